import { request, type Agent } from 'undici';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { KubeObject, RuleObject } from '#shared/kube/objects.ts';
import { REPORT_VERSION } from '#shared/protocol/report.ts';
import { connect, createAgent, post, ruleReport, type PostOptions } from './agent.ts';
import { createPod, createRunningPod, expiredTokenFor, removePod, tokenFor } from './pods.ts';
import { createRule, deleteRule, readRule, statusOf } from './rules.ts';
import { eventually, pause } from '../support/eventually.ts';
import { createWorld, type World } from './world.ts';

let world: World;
let dispatcher: Agent;
/** The pod whose reports are spoofed, and one of another purpose that would like to. */
let victim: KubeObject;
let attacker: KubeObject;
/** In sync by a true report, so that any effect of a false one shows. */
let rule: RuleObject;

beforeAll(async () => {
  world = await createWorld();
  dispatcher = connect(world);
  victim = await createRunningPod(world, { name: 'victim' });
  attacker = await createRunningPod(world, { name: 'attacker', purpose: 'evil' });
  rule = await createRule(world, { name: 'target' });
  const agent = await createAgent(world, victim);
  await agent.says([rule, 'Applied']);
  await agent.close();
});
afterAll(async () => {
  await dispatcher.destroy();
  await world.close();
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
  const token = await tokenFor(world, pod);
  const { namespace, name } = pod.metadata;
  const body = falseReport('x', { rules: [] });
  const report = (): Promise<unknown> =>
    post(world, dispatcher, { namespace, pod: name, token, body });
  expect(await report()).toMatchObject({ status: 200 });
  await removePod(world, pod);
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
    attack: async () => ({ token: await tokenFor(world, victim, { audience: 'vault' }) }),
    status: 401,
    code: 'bad-token',
  },
  "with a token for the API server, as every pod's default one": {
    attack: async () => {
      const audience = 'https://kubernetes.default.svc';
      return { token: await tokenFor(world, victim, { audience }) };
    },
    status: 401,
    code: 'bad-token',
  },
  'with a token that has expired': {
    attack: async () => ({ token: await expiredTokenFor(world, victim) }),
    status: 401,
    code: 'bad-token',
  },
  'with a token that is not bound to a pod': {
    attack: async () => ({ token: await tokenFor(world, victim, { bound: false }) }),
    status: 403,
    code: 'unbound-token',
  },
  "with another pod's token": {
    attack: async () => ({ token: await tokenFor(world, attacker) }),
    status: 403,
    code: 'other-pod',
  },
  'from another namespace, by a pod of the same name and purpose': {
    attack: async () => {
      const namespace = await world.cluster.createNamespace('elsewhere');
      await world.cluster.kubectl(['create', 'serviceaccount', 'default', '-n', namespace], {
        allowFailure: true,
      });
      const twin = await createPod(world, { name: 'victim', namespace });
      return { token: await tokenFor(world, twin) };
    },
    status: 403,
    code: 'other-namespace',
  },
  'on another purpose, by a pod with its own token': {
    attack: async () => ({
      pod: 'attacker',
      token: await tokenFor(world, attacker),
      body: falseReport('cnf-1'),
    }),
    status: 403,
    code: 'other-purpose',
  },
  'by a pod that bears the label, but no agent': {
    attack: async () => {
      const bare = await createRunningPod(world, { name: 'bare', agentServes: null, purpose: 'x' });
      return { pod: 'bare', token: await tokenFor(world, bare) };
    },
    status: 403,
    code: 'no-agent',
  },
  'with the token of a pod that was deleted': {
    attack: async () => {
      const gone = await createRunningPod(world, { name: 'gone', purpose: 'x' });
      return { pod: 'gone', token: await tokenOfRemoved(gone) };
    },
    status: 403,
    code: 'pod-gone',
  },
  'with the token of a deleted pod whose name another one has': {
    attack: async () => {
      const gone = await createRunningPod(world, { name: 'renewed', purpose: 'x' });
      const token = await tokenOfRemoved(gone);
      await createRunningPod(world, { name: 'renewed', purpose: 'x' });
      return { pod: 'renewed', token };
    },
    status: 403,
    code: 'pod-gone',
  },
};

describe('a report', () => {
  it('counts when it is of the pod itself', async () => {
    await eventually(() => statusOf(world, 'target')).toMatchObject({ inSync: true });
  });

  it.each(Object.entries(attacks))('%s is refused and changes nothing', async (_name, attempt) => {
    const before = await readRule(world, 'target');
    const answer = await post(world, dispatcher, {
      namespace: world.namespace,
      pod: 'victim',
      body: falseReport(),
      ...(await attempt.attack()),
    });
    expect(answer).toMatchObject({
      status: attempt.status,
      body: { error: { code: attempt.code } },
    });
    const after = await readRule(world, 'target');
    expect(after?.metadata.resourceVersion).toBe(before?.metadata.resourceVersion);
  });

  it('is counted when it was refused, by why', async () => {
    const { body } = await request(`${world.coordinator.httpUrl}/metrics`);
    const metrics = await body.text();
    for (const { code } of Object.values(attacks))
      expect(metrics).toMatch(
        new RegExp(`sdewan_coordinator_reports_total\\{result="${code}"\\} [1-9]`),
      );
  });

  it('does not confirm the removal of a rule when it is of another pod', async () => {
    await deleteRule(world, 'target');
    await eventually(() => statusOf(world, 'target')).toMatchObject({ state: 'Being delete' });
    const token = await tokenFor(world, attacker);
    const own = { namespace: world.namespace, pod: 'attacker', token, body: falseReport('evil') };
    // A pod may say of itself what it likes, also of rules that are not its own.
    expect(await post(world, dispatcher, own)).toMatchObject({ status: 200 });
    await pause(1_000);
    expect(await statusOf(world, 'target')).toMatchObject({ outOfSync: [{ pod: 'victim' }] });
  });
});

it('answers an unknown path with 404', async () => {
  const { statusCode, body } = await request(`${world.coordinator.reportUrl}/v2`, { dispatcher });
  expect([statusCode, await body.json()]).toMatchObject([404, { error: { code: 'not-found' } }]);
});
