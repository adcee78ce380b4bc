import { request, type Agent } from 'undici';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { KubeObject, RuleObject } from '#shared/kube/objects.ts';
import { REPORT_VERSION } from '#shared/protocol/report.ts';
import { connect, createAgent, post, ruleReport, type PostOptions } from './agent.ts';
import { createPod, createRunningPod, expiredTokenFor, removePod, tokenFor } from './pods.ts';
import { createRule, deleteRule, readRule, statusOf } from './rules.ts';
import { eventually, pause } from '../support/eventually.ts';
import { createFixture, type Fixture } from './fixture.ts';

let fixture: Fixture;
let dispatcher: Agent;
/** The pod whose reports are spoofed, and one of another purpose that would like to. */
let victim: KubeObject;
let attacker: KubeObject;
/** In sync by a true report, so that any effect of a false one shows. */
let rule: RuleObject;

beforeAll(async () => {
  fixture = await createFixture();
  dispatcher = connect(fixture);
  victim = await createRunningPod(fixture, { name: 'victim' });
  attacker = await createRunningPod(fixture, { name: 'attacker', purpose: 'evil' });
  rule = await createRule(fixture, { name: 'target' });
  const agent = await createAgent(fixture, victim);
  await agent.says([rule, 'Applied']);
  await agent.close();
});
afterAll(async () => {
  await dispatcher.destroy();
  await fixture.close();
});

/**
 * A report that would take the rule out of sync if it counted, and confirm its removal if it were
 * being deleted.
 */
const falseReport = (purpose = 'cnf-1', changes: object = {}): string =>
  JSON.stringify({
    version: REPORT_VERSION,
    clock: { startedAt: Date.now(), sentAt: Date.now() },
    doubt: '',
    fleet: {},
    bootId: 'boot-of-an-attacker',
    sequence: 1,
    page: 0,
    pages: 1,
    purpose,
    openwrt: { reachable: true, driver: 'ubus', message: '', driftRepairs: 0 },
    unwatchedKinds: [],
    rules: [ruleReport(rule, 'Removed')],
    ...changes,
  });

/**
 * The token of a pod that the coordinator has seen deleted, and accepted just before: the API
 * server itself refuses tokens of deleted pods only after a while.
 */
const tokenOfRemoved = async (pod: KubeObject): Promise<string> => {
  const token = await tokenFor(fixture, pod);
  const { namespace, name } = pod.metadata;
  const body = falseReport('x', { rules: [] });
  const report = (): Promise<unknown> =>
    post(fixture, dispatcher, { namespace, pod: name, token, body });
  expect(await report()).toMatchObject({ status: 200 });
  await removePod(fixture, pod);
  await eventually(report).toMatchObject({ status: 403 });
  return token;
};

type Attack = () => Promise<Partial<PostOptions>>;
type Expected = { status: number; code: string };

const attacks: Record<string, { attack: Attack } & Expected> = {
  'without a token': {
    attack: async () => ({}),
    status: 401,
    code: 'no-token',
  },
  'with nonsense for a token': {
    attack: async () => ({ token: 'nonsense' }),
    status: 401,
    code: 'bad-token',
  },
  'with a token of another audience': {
    attack: async () => ({ token: await tokenFor(fixture, victim, { audience: 'vault' }) }),
    status: 401,
    code: 'bad-token',
  },
  "with a token for the API server, as every pod's default one": {
    attack: async () => {
      const audience = 'https://kubernetes.default.svc';
      return { token: await tokenFor(fixture, victim, { audience }) };
    },
    status: 401,
    code: 'bad-token',
  },
  'with a token that has expired': {
    attack: async () => ({ token: await expiredTokenFor(fixture, victim) }),
    status: 401,
    code: 'bad-token',
  },
  'with a token that is not bound to a pod': {
    attack: async () => ({ token: await tokenFor(fixture, victim, { bound: false }) }),
    status: 403,
    code: 'unbound-token',
  },
  "with another pod's token": {
    attack: async () => ({ token: await tokenFor(fixture, attacker) }),
    status: 403,
    code: 'other-pod',
  },
  'from another namespace, by a pod of the same name and purpose': {
    attack: async () => {
      const namespace = await fixture.cluster.createNamespace('elsewhere');
      await fixture.cluster.kubectl(['create', 'serviceaccount', 'default', '-n', namespace], {
        allowFailure: true,
      });
      const twin = await createPod(fixture, { name: 'victim', namespace });
      return { token: await tokenFor(fixture, twin) };
    },
    status: 403,
    code: 'other-namespace',
  },
  'on another purpose, by a pod with its own token': {
    attack: async () => ({
      pod: 'attacker',
      token: await tokenFor(fixture, attacker),
      body: falseReport('cnf-1'),
    }),
    status: 403,
    code: 'other-purpose',
  },
  'by a pod that bears the label, but no agent': {
    attack: async () => {
      const bare = await createRunningPod(fixture, {
        name: 'bare',
        agentServes: null,
        purpose: 'x',
      });
      return { pod: 'bare', token: await tokenFor(fixture, bare) };
    },
    status: 403,
    code: 'no-agent',
  },
  'with the token of a pod that was deleted': {
    attack: async () => {
      const gone = await createRunningPod(fixture, { name: 'gone', purpose: 'x' });
      return { pod: 'gone', token: await tokenOfRemoved(gone) };
    },
    status: 403,
    code: 'pod-gone',
  },
  'with the token of a deleted pod whose name another one has': {
    attack: async () => {
      const gone = await createRunningPod(fixture, { name: 'renewed', purpose: 'x' });
      const token = await tokenOfRemoved(gone);
      await createRunningPod(fixture, { name: 'renewed', purpose: 'x' });
      return { pod: 'renewed', token };
    },
    status: 403,
    code: 'pod-gone',
  },
};

describe('a report', () => {
  it('counts when it is of the pod itself', async () => {
    await eventually(() => statusOf(fixture, 'target')).toMatchObject({ inSync: true });
  });

  it.each(Object.entries(attacks))('%s is refused and changes nothing', async (_name, attempt) => {
    const before = await readRule(fixture, 'target');
    const answer = await post(fixture, dispatcher, {
      namespace: fixture.namespace,
      pod: 'victim',
      body: falseReport(),
      ...(await attempt.attack()),
    });
    expect(answer).toMatchObject({
      status: attempt.status,
      body: { error: { code: attempt.code } },
    });
    const after = await readRule(fixture, 'target');
    expect(after?.metadata.resourceVersion).toBe(before?.metadata.resourceVersion);
  });

  it('is counted when it was refused, by why', async () => {
    const { body } = await request(`${fixture.coordinator.httpUrl}/metrics`);
    const metrics = await body.text();
    for (const { code } of Object.values(attacks))
      expect(metrics).toMatch(
        new RegExp(`sdewan_coordinator_reports_total\\{result="${code}"\\} [1-9]`),
      );
  });

  it('does not confirm the removal of a rule when it is of another pod', async () => {
    await deleteRule(fixture, 'target');
    await eventually(() => statusOf(fixture, 'target')).toMatchObject({ state: 'Being delete' });
    const token = await tokenFor(fixture, attacker);
    const own = { namespace: fixture.namespace, pod: 'attacker', token, body: falseReport('evil') };
    // A pod may say of itself what it likes, also of rules that are not its own.
    expect(await post(fixture, dispatcher, own)).toMatchObject({ status: 200 });
    await pause(1_000);
    expect(await statusOf(fixture, 'target')).toMatchObject({ outOfSync: [{ pod: 'victim' }] });
  });
});

it('answers an unknown path with 404', async () => {
  const { statusCode, body } = await request(`${fixture.coordinator.reportUrl}/v2`, { dispatcher });
  expect([statusCode, await body.json()]).toMatchObject([404, { error: { code: 'not-found' } }]);
});
