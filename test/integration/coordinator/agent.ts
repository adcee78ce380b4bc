/** An agent that reports what the test gives it, over the real protocol. */
import { randomUUID } from 'node:crypto';
import { Agent, request } from 'undici';
import * as z from 'zod';
import { revisionOf } from '#shared/compile/revision.ts';
import type { KubeObject, RuleObject } from '#shared/kube/objects.ts';
import type { Information } from '#shared/protocol/information.ts';
import {
  MAX_RULES_PER_PAGE,
  OTHERS_HEADER,
  REPORT_VERSION,
  type Drift,
  type ChangeTimes,
  type Report,
  type RuleReport,
  type RuleState,
  type UnreadOthers,
} from '#shared/protocol/report.ts';
import { tokenFor } from './pods.ts';
import type { Fixture } from './fixture.ts';

const answerSchema = z.object({
  epoch: z.string().optional(),
  wantsFull: z.boolean().optional(),
  wantsTimes: z.boolean().optional(),
  error: z.object({ code: z.string() }).optional(),
});
export type Answer = { status: number; body: z.infer<typeof answerSchema> };

export type SimulatedAgent = {
  pod: KubeObject;
  /** A full report of these rules; sends it. */
  says: (
    ...rules: readonly (readonly [RuleObject, RuleState, Partial<RuleReport>?])[]
  ) => Promise<Answer>;
  /** The same, with when changes have come to OpenWRT. */
  timed: (
    times: readonly ChangeTimes[],
    ...rules: readonly (readonly [RuleObject, RuleState])[]
  ) => Promise<Answer>;
  /** A full report without rules, with information about OpenWRT. */
  tells: (information: Information) => Promise<Answer>;
  /** A full report without rules, with packages of UCI that have lost their comments. */
  lostComments: (...packages: readonly string[]) => Promise<Answer>;
  /** A full report without rules, of an agent that cannot write its state folder. */
  cannotWrite: (cause: string) => Promise<Answer>;
  cannotCompare: (...unread: UnreadOthers[]) => Promise<Answer>;
  /** A full report without rules, of an agent to which OpenWRT does not answer. */
  misses: (message: string) => Promise<Answer>;
  /** A full report without rules, with what the agent has put back. */
  repaired: (...drifts: readonly Drift[]) => Promise<Answer>;
  /** A heartbeat on the last full report. */
  beats: () => Promise<Answer>;
  /** As after a restart of the agent's container; `startedAt` by default now. */
  boots: (startedAt?: number) => void;
  close: () => Promise<void>;
};

export type PostOptions = {
  namespace: string;
  pod: string;
  token?: string;
  others?: number;
  body: string | Buffer;
};

/** A connection pool that trusts the CA of the test's coordinator. */
export const connect = ({ ca }: Fixture): Agent => new Agent({ connect: { ca } });

export const post = async (
  fixture: Fixture,
  dispatcher: Agent,
  options: PostOptions,
): Promise<Answer> => {
  const { namespace, pod, token, body } = options;
  const { statusCode, body: answer } = await request(
    `${fixture.coordinator.reportUrl}/v1/namespaces/${namespace}/pods/${pod}/report`,
    {
      method: 'POST',
      dispatcher,
      headers: {
        'content-type': 'application/json',
        [OTHERS_HEADER]: String(options.others ?? 1),
        ...(token !== undefined && { authorization: `Bearer ${token}` }),
      },
      body,
    },
  );
  return { status: statusCode, body: answerSchema.parse(await answer.json()) };
};

export const ruleReport = (
  rule: RuleObject,
  state: RuleState,
  changes: Partial<RuleReport> = {},
): RuleReport => ({
  kind: rule.kind,
  name: rule.metadata.name,
  uid: rule.metadata.uid,
  generation: rule.metadata.generation ?? 0,
  revision: revisionOf(rule),
  state,
  reason: state,
  message: '',
  ...changes,
});

export const createAgent = async (
  fixture: Fixture,
  pod: KubeObject,
  { purpose = 'cnf-1' }: { purpose?: string } = {},
): Promise<SimulatedAgent> => {
  const token = await tokenFor(fixture, pod);
  const dispatcher = connect(fixture);
  let bootId = randomUUID();
  let startedAt = Date.now();
  let sequence = 0;
  let full = 0;
  const send = (changes: Partial<Report>): Promise<Answer> => {
    const report: Report = {
      version: REPORT_VERSION,
      doubt: '',
      fleet: {},
      clock: { startedAt, sentAt: Date.now() },
      bootId,
      sequence,
      page: 0,
      pages: 1,
      purpose,
      openwrt: { reachable: true, driver: 'ubus', message: '', driftRepairs: 0 },
      unwatchedKinds: [],
      rules: [],
      ...changes,
    };
    const { namespace, name } = pod.metadata;
    return post(fixture, dispatcher, { namespace, pod: name, token, body: JSON.stringify(report) });
  };
  /** The whole of all that there is to say. */
  const sendInFull = (changes: Partial<Report>): Promise<Answer> => {
    sequence += 1;
    full = sequence;
    return send(changes);
  };
  return {
    pod,
    says: async (...said) => {
      sequence += 1;
      full = sequence;
      const rules = said.map(([rule, state, changes]) => ruleReport(rule, state, changes));
      const pages = Math.max(1, Math.ceil(rules.length / MAX_RULES_PER_PAGE));
      for (let page = 0; page < pages - 1; page += 1)
        await send({ page, pages, rules: rules.slice(...pageAt(page)) });
      return send({ page: pages - 1, pages, rules: rules.slice(...pageAt(pages - 1)) });
    },
    timed: (times, ...said) =>
      sendInFull({
        times: [...times],
        rules: said.map(([rule, state]) => ruleReport(rule, state)),
      }),
    tells: (information) => sendInFull({ information }),
    lostComments: (...packages) => sendInFull({ commentsLost: [...packages] }),
    cannotWrite: (cause) => sendInFull({ stateFolder: cause }),
    cannotCompare: (...unreadOthers) => sendInFull({ unreadOthers }),
    misses: (message) =>
      sendInFull({ openwrt: { reachable: false, driver: 'ubus', message, driftRepairs: 0 } }),
    repaired: (...drifts) => sendInFull({ drifts: [...drifts] }),
    beats: () => {
      sequence += 1;
      return send({ repeats: full });
    },
    boots: (at = Date.now()) => {
      startedAt = at;
      bootId = randomUUID();
      sequence = 0;
    },
    close: () => dispatcher.destroy(),
  };
};

const pageAt = (page: number): [number, number] => [
  page * MAX_RULES_PER_PAGE,
  (page + 1) * MAX_RULES_PER_PAGE,
];
