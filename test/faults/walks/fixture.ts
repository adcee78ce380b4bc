/**
 * A cluster of a walk: API server, coordinators, CNF pods with agents and OpenWRTs, and the network
 * between them, on one time. What must never happen is looked at whenever the API server or a
 * device changes; `whatIsWrong` lists what is not as it should be once all is quiet.
 */
import {
  AGENTS_FINALIZER,
  ORDER_ANNOTATION,
  PURPOSE_LABEL,
  RULE_GROUP,
  RULE_VERSION,
} from '#shared/names.ts';
import { ruleStatusSchema, type RuleStatus } from '#shared/protocol/status.ts';
import { reportAnswerSchema, type Report, type ReportAnswer } from '#shared/protocol/report.ts';
import type { UciSection } from '#shared/uci/model.ts';
import { tokenSaying } from '../../../coordinator/testing/facts.ts';
import { ReportRefused } from '../../../agent/report/client.ts';
import { ApiServer, NAMESPACE, type Fault, type Stored } from './api-server.ts';
import { SILENT_AFTER_MS, startCoordinator } from './coordinator.ts';
import { PODS, startPod, type Pod } from './pod.ts';
import { createProcess, type Process } from './process.ts';
import { createTime, type Time } from './time.ts';
import { textOf } from './uci-text.ts';
import { sectionsOf, WORDS, type Word } from './vocabulary.ts';

export type Coordinator = {
  name: string;
  address: string;
  process: Process;
  fetch: (request: Request) => Response | Promise<Response>;
};

export type Fixture = {
  time: Time;
  server: ApiServer;
  pods: Map<string, Pod>;
  coordinators: Map<string, Coordinator>;
  /** How much goes wrong with calls and reports: a part of all. */
  chaos: { calls: number; reports: number; slowWatches: boolean };
  addPod: (name: string, purpose: string) => void;
  addCoordinator: (name: string) => void;
  createRule: (
    word: Word,
    change: { variant: number; purpose: string; hasFinalizer: boolean },
  ) => void;
  updateRule: (word: Word, change: (rule: Stored) => Stored) => void;
  deleteRule: (word: Word) => void;
  /** Everything that was disturbed goes on. */
  heal: () => void;
  whatIsWrong: () => string[];
  /** What should never have happened, and has. */
  violations: string[];
  /** What happened, for a person to read. */
  journal: string[];
};

const resourceOf = ({ plural }: Word): string => `${RULE_GROUP}/${plural}`;
const RULES = new Map(WORDS.map((word) => [`${resourceOf(word)} ${word.name}`, word]));
/**
 * From a change of an OpenWRT until no status may show the earlier state any more: a look, a report
 * under way, and the write of the status.
 */
const FRESH_MS = 6_000;
/**
 * A coordinator that watches pods may learn of one so late: watches are slow by 3 s at most, and a
 * status may be on its way.
 */
const NEW_POD_MS = 3_500;
const REPORT_TIMEOUT_MS = 10_000;
const LONGEST_DELAY_MS = 2_000;

export const createFixture = (random: () => number): Fixture => {
  const time = createTime();
  const pods = new Map<string, Pod>();
  const coordinators = new Map<string, Coordinator>();
  const chaos = { calls: 0, reports: 0, slowWatches: false };
  const violations: string[] = [];
  const journal: string[] = [];
  const note = (text: string): void => {
    journal.push(`${(time.monotonic() / 1_000).toFixed(3)} ${text}`);
  };
  const violation = (text: string): void => {
    note(`VIOLATION ${text}`);
    violations.push(text);
  };
  /** By pod and section, when the device last had it with that text. */
  const lastPresent = new Map<string, number>();
  /** By pod, what it holds now. */
  const heldNow = new Map<string, Set<string>>();

  const faultOf = (verb: string, { kind }: { kind: string }): Fault | undefined => {
    if (random() >= chaos.calls) return undefined;
    const isWrite = verb === 'replace' || verb === 'patch' || verb === 'create';
    const refused: Fault =
      isWrite && kind !== 'TokenReview'
        ? { status: 409, reason: 'Conflict' }
        : { status: verb === 'watch' || verb === 'list' ? 410 : 503, reason: 'Expired' };
    const faults: readonly Fault[] = [
      refused,
      { status: 429, reason: 'TooManyRequests', retryAfterMs: 1_000 },
      { hangs: 'before' },
      { hangs: 'after' },
      { status: 500, reason: 'InternalError' },
    ];
    return faults[Math.floor(random() * faults.length)];
  };

  const podOf = (object: Stored): Pod | undefined =>
    [...pods.values()].find(({ uid }) => uid === object.metadata.uid);

  /** Pods that live as Kubernetes has it. */
  const livePods = (): Pod[] => server.all(PODS).flatMap((object) => podOf(object) ?? []);

  const judgeFinalizer = (
    word: Word,
    before: Stored | undefined,
    now: Stored | undefined,
  ): void => {
    if (!hasFinalizer(before) || hasFinalizer(now)) return;
    const name = nameOf(word);
    note(`finalizer of ${name} is gone`);
    for (const pod of livePods())
      if (namesOf(word).some((section) => heldNow.get(pod.uid)?.has(section)))
        violation(`the finalizer of ${name} is gone while ${pod.name} holds it`);
  };

  /**
   * By pod, until when its agent has waited for the answer to a report that the network has lost;
   * news waits, too.
   */
  const waitedUntil = new Map<string, number>();

  /**
   * What an agent that is stopped said last holds until it counts as silent; what it does not know
   * of that time it learns afterwards.
   */
  const knownFrom = (pod: Pod): number => {
    const [from, to] = pod.agent().stoodStill() ?? [-Infinity, -Infinity];
    const waited = Math.min(time.monotonic(), waitedUntil.get(pod.uid) ?? -Infinity);
    return Math.max(waited, Math.min(to, from + SILENT_AFTER_MS));
  };

  /** In sync is newly written: each pod had it just now. */
  const judgeInSync = (word: Word, rule: Stored, generation: number | undefined): void => {
    const live = livePods().filter(({ name, purpose, createdAt }) => {
      const isTerminating = server.get(PODS, name)?.metadata.deletionTimestamp !== undefined;
      const knowable = [...coordinators.values()].map(({ process }) =>
        server.canKnowFrom(process, PODS, createdAt),
      );
      const isNew = time.monotonic() - Math.max(createdAt, ...knowable) < NEW_POD_MS;
      return purpose === purposeOf(rule) && !isTerminating && !isNew;
    });
    for (const pod of live)
      for (const section of variantOf(word, rule, generation) ?? []) {
        const at = lastPresent.get(`${pod.uid} ${textOf([section])}`) ?? -Infinity;
        const ago = Math.round(time.monotonic() - Math.max(at, knownFrom(pod)));
        if (ago > FRESH_MS)
          violation(
            `${nameOf(word)} is newly in sync, and ${pod.name} has not had ${section.name} for ${ago} ms`,
          );
      }
  };

  const judgeStatus = (word: Word, before: Stored | undefined, now: Stored | undefined): void => {
    const status = statusOf(now);
    const earlier = statusOf(before);
    if (!now || !status || JSON.stringify(status) === JSON.stringify(earlier)) return;
    const { state, observedGeneration: generation, message = '' } = status;
    note(`status of ${nameOf(word)}: ${state} ${generation} ${message}`);
    const was = earlier?.inSync && earlier.observedGeneration === generation;
    if (status.inSync && !was) judgeInSync(word, now, generation);
  };
  /** Specs by uid and generation: a status may be about an earlier one. */
  const specs = new Map<string, unknown>();
  const variantOf = (word: Word, { metadata, spec }: Stored, generation = 0) => {
    const wanted = specs.get(`${metadata.uid} ${generation}`) ?? spec;
    const variant = word.variants.find(
      (one) => JSON.stringify(one.spec) === JSON.stringify(wanted),
    );
    return variant?.text === undefined ? undefined : sectionsOf(variant.text);
  };

  const server = new ApiServer({
    time,
    faultOf,
    latency: () => 1 + random() * 15,
    watchDelay: () => (chaos.slowWatches ? random() * 3_000 : 1 + random() * 20),
    onChange: ({ resource, before, now }) => {
      const word = RULES.get(`${resource} ${(now ?? before)?.metadata.name}`);
      if (now) specs.set(`${now.metadata.uid} ${now.metadata.generation ?? 0}`, now.spec);
      if (!word) return;
      judgeFinalizer(word, before, now);
      judgeStatus(word, before, now);
    },
  });

  const onDevice = (pod: Pod): void => {
    const before = heldNow.get(pod.uid) ?? new Set();
    for (const text of before) lastPresent.set(`${pod.uid} ${text}`, time.monotonic());
    const sections = pod.device.sections();
    const now = new Set(sections.flatMap((section) => [section.name, textOf([section])]));
    for (const text of now) lastPresent.set(`${pod.uid} ${text}`, Infinity);
    heldNow.set(pod.uid, now);
    note(`${pod.name} holds ${[...now].filter((text) => !text.includes(' ')).join(' ')}`);
    for (const [name, foreign] of pod.device.foreign) {
      const names = new Set(foreign.map((section) => section.name));
      const there = pod.device.packages.get(name)?.sections ?? [];
      const kept = there.filter((section) => names.has(section.name));
      if (textOf(kept) !== textOf(foreign))
        violation(`sections of others in ${name} on ${pod.name} were changed`);
    }
  };

  /** To one coordinator, and back. */
  const post = async (
    process: Process,
    uid: string,
    podName: string,
    target: { address: string; report: Report; others: number },
  ): Promise<ReportAnswer> => {
    const coordinator = [...coordinators.values()].find(
      ({ address }) => address === target.address,
    );
    const luck = random();
    const isBad = luck < chaos.reports;
    const way = Math.floor(random() * 5);
    const delay = (): number => (isBad ? random() * LONGEST_DELAY_MS : 1 + random() * 5);
    const body = JSON.stringify(target.report);
    const arrive = (ms: number): Promise<Response> =>
      new Promise((resolve, reject) => {
        time.after(ms, () => {
          if (!coordinator?.process.isAlive()) return reject(new Error('connection refused'));
          coordinator.process.deliver(() => {
            const path = `/v1/namespaces/${NAMESPACE}/pods/${podName}/report`;
            const request = new Request(`https://${target.address}${path}`, {
              method: 'POST',
              headers: {
                authorization: `Bearer ${tokenSaying({ namespace: NAMESPACE, name: podName, uid })}`,
                'content-type': 'application/json',
                'sdewan-other-coordinators': String(target.others),
              },
              body,
            });
            Promise.resolve(coordinator.fetch(request)).then(resolve, reject);
          });
        });
      });
    const answer = new Promise<ReportAnswer>((resolve, reject) => {
      time.after(REPORT_TIMEOUT_MS, () => reject(new Error('no answer in time')));
      if (isBad && (way === 0 || way === 2))
        waitedUntil.set(uid, time.monotonic() + REPORT_TIMEOUT_MS);
      if (isBad && way === 0) return;
      const first = arrive(delay());
      // It comes once more, after others.
      if (isBad && way === 1) void arrive(random() * 8_000).catch(() => undefined);
      const answerTo = async (): Promise<void> => {
        const response = await first;
        const text: unknown = await response.json();
        if (isBad && way === 2) return;
        await time.sleep(delay());
        if (response.status !== 200) throw new ReportRefused(response.status, JSON.stringify(text));
        resolve(reportAnswerSchema.parse(text));
      };
      answerTo().catch(reject);
    });
    return process.receive(answer);
  };

  const purposeOf = ({ metadata }: Stored): string | undefined => metadata.labels?.[PURPOSE_LABEL];

  const wrongOnDevice = (pod: Pod, rules: readonly (readonly [Word, Stored])[]): string[] => {
    const ours = rules
      .filter(([, rule]) => purposeOf(rule) === pod.purpose)
      .toSorted(([a, one], [b, other]) => (byPlace(a, one) < byPlace(b, other) ? -1 : 1));
    return [...pod.device.packages.values()].flatMap((uciPackage) => {
      const foreign = pod.device.foreign.get(uciPackage.name) ?? [];
      const wanted = ours
        .filter(([word]) => word.package === uciPackage.name)
        .flatMap(([word, rule]): readonly UciSection[] => {
          const exact = variantOf(word, rule);
          if (exact) return exact;
          // An older spec that was right may be in force, or nothing.
          const names = new Set(namesOf(word));
          const there = uciPackage.sections.filter(({ name }) => names.has(name));
          const isOlder = word.variants.some(
            ({ text }) => text !== undefined && textOf(sectionsOf(text)) === textOf(there),
          );
          return isOlder ? there : [];
        });
      const types = new Set([...uciPackage.sections, ...wanted].map(({ type }) => type));
      return [...types].flatMap((type) => {
        const isOfType = (section: UciSection): boolean => section.type === type;
        const expected = textOf([...foreign.filter(isOfType), ...wanted.filter(isOfType)]);
        const found = textOf(uciPackage.sections.filter(isOfType));
        // Who wrote last stands last: a section of others may have come between.
        const isSame = expected === found || sorted(expected, foreign) === sorted(found, foreign);
        return isSame
          ? []
          : [`${pod.name} has of ${uciPackage.name}:\n${found}\nand not\n${expected}`];
      });
    });
  };

  const wrongStatus = ([word, rule]: readonly [Word, Stored]): string[] => {
    const status = statusOf(rule);
    const name = nameOf(word);
    if (rule.metadata.deletionTimestamp !== undefined)
      return [`${name} is still being deleted: ${status?.message}`];
    const { length } = livePods().filter(({ purpose }) => purpose === purposeOf(rule));
    const isRight = variantOf(word, rule) !== undefined;
    const said = [status?.observedGeneration, status?.inSync, status?.pods?.live];
    const isTrue = said.join() === [rule.metadata.generation, isRight && length > 0, length].join();
    return [
      ...(isTrue
        ? []
        : [
            `${name} is ${isRight ? 'right' : 'wrong'} on ${length} pods, and its status says ${JSON.stringify(status)}`,
          ]),
      ...(hasFinalizer(rule) ? [] : [`${name} has no finalizer`]),
    ];
  };

  const fixture: Fixture = {
    time,
    server,
    pods,
    coordinators,
    chaos,
    violations,
    journal,
    addPod: (name, purpose) => {
      if (server.get(PODS, name)) return;
      note(`pod ${name} of ${purpose}`);
      const pod: Pod = startPod({
        time,
        server,
        name,
        purpose,
        random,
        onDevice: () => {
          if (pods.get(name)) onDevice(pods.get(name)!);
        },
        surroundings: (process, uid) => ({
          client: server.clientOf(process),
          resolve: () =>
            process.receive(
              time.sleep(2).then(() => [...coordinators.values()].map(({ address }) => address)),
            ),
          post: (address, report, others) => post(process, uid, name, { address, report, others }),
        }),
      });
      pods.set(name, pod);
      onDevice(pod);
    },
    addCoordinator: (name) => {
      if (coordinators.has(name)) return;
      note(`coordinator ${name}`);
      const process = createProcess(time);
      const fetch = startCoordinator(
        process,
        server.clientOf(process),
        `${name}-${Math.round(random() * 1e9)}`,
      );
      coordinators.set(name, { name, address: `10.0.0.${name === 'one' ? 1 : 2}`, process, fetch });
    },
    createRule: (word, { variant, purpose, hasFinalizer }) => {
      if (server.get(resourceOf(word), word.name)) return;
      note(`create ${word.kind}/${word.name} ${variant} for ${purpose}`);
      server.create(resourceOf(word), {
        apiVersion: `${RULE_GROUP}/${RULE_VERSION}`,
        kind: word.kind,
        metadata: {
          name: word.name,
          labels: { [PURPOSE_LABEL]: purpose },
          ...(hasFinalizer && { finalizers: [AGENTS_FINALIZER] }),
        },
        spec: word.variants[variant % word.variants.length]!.spec,
      });
    },
    updateRule: (word, change) => {
      const present = server.get(resourceOf(word), word.name);
      if (!present || present.metadata.deletionTimestamp !== undefined) return;
      const { metadata } = server.update(resourceOf(word), word.name, change);
      note(
        `update ${word.kind}/${word.name}: generation ${metadata.generation} ${purposeOf({ ...present, metadata })}`,
      );
    },
    deleteRule: (word) => {
      note(`delete ${word.kind}/${word.name}`);
      server.delete(resourceOf(word), word.name);
    },
    heal: () => {
      note('all is quiet');
      Object.assign(chaos, { calls: 0, reports: 0, slowWatches: false });
      for (const pod of pods.values()) pod.heal();
      for (const { process } of coordinators.values()) process.thaw();
      if (![...coordinators.values()].some(({ process }) => process.isAlive()))
        fixture.addCoordinator('one');
    },
    whatIsWrong: () => {
      const rules = WORDS.flatMap((word): (readonly [Word, Stored])[] => {
        const rule = server.get(resourceOf(word), word.name);
        return rule ? [[word, rule]] : [];
      });
      const live = rules.filter(([, { metadata }]) => metadata.deletionTimestamp === undefined);
      return [
        ...livePods().flatMap((pod) => wrongOnDevice(pod, live)),
        ...rules.flatMap(wrongStatus),
      ];
    },
  };
  return fixture;
};

const statusOf = (rule: Stored | undefined): RuleStatus | undefined =>
  rule?.status === undefined ? undefined : ruleStatusSchema.parse(rule.status);

const hasFinalizer = (rule: Stored | undefined): boolean =>
  rule?.metadata.finalizers?.includes(AGENTS_FINALIZER) ?? false;

const nameOf = ({ kind, name }: Word): string => `${kind}/${name}`;

const namesOf = ({ variants }: Word): string[] => [
  ...new Set(variants.flatMap(({ text = '' }) => sectionsOf(text).map(({ name }) => name))),
];

/** Sorts as rules come in OpenWRT's files. */
const byPlace = (word: Word, { metadata }: Stored): string => {
  const order = Number(metadata.annotations?.[ORDER_ANNOTATION] ?? 0) + 500;
  const kinds = ['FirewallZone', 'FirewallRule', 'Mwan3Policy', 'CNFRouteRule'];
  return [order, metadata.creationTimestamp, kinds.indexOf(word.kind), metadata.name].join(' ');
};

/** Ours and those of others, each in their order. */
const sorted = (text: string, foreign: readonly UciSection[]): string => {
  const names = new Set(foreign.map(({ name }) => name));
  const parts = text === '' ? [] : text.split(/\n(?=config )/);
  const isForeign = (part: string): boolean => names.has(/'(.*)'/.exec(part)?.[1] ?? '');
  return [...parts.filter(isForeign), ...parts.filter((part) => !isForeign(part))].join('\n');
};
