/** The controller against an API server in memory: what it writes, in which order, and what not. */
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import type { RecordedEvent } from '#shared/kube/events.ts';
import { ALWAYS_LEADING, NO_METRICS } from '#shared/kube/testing/controller.ts';
import { PORTS_GATE } from '#shared/names.ts';
import type { Counters } from '#shared/protocol/counters.ts';
import type { RestartOrder, ServedRestart } from '#shared/protocol/report.ts';
import {
  cnfDeploymentResource,
  type CnfDeploymentStatus,
} from '#shared/resources/other-kinds/cnf-deployment.ts';
import { systemClock } from '#shared/runtime/clock.ts';
import { sleepOn } from '#shared/runtime/testing/manual-clock.ts';
import { silentLogger } from '#shared/runtime/log.ts';
import { Registry } from '#shared/metrics/prometheus.ts';
import { fleetDeployments, fleetPods, fleetReplicaSets } from './apps.ts';
import { createFleetController, type FleetController } from './controller.ts';
import type { AgentsHeard } from './distance-answers.ts';
import { createRollOutMetrics } from './metrics.ts';
import type { ReportedRules } from './reported.ts';
import { FakeFleetApi, NAMESPACE } from './testing/api-server.ts';
import type { TagAnswer } from './updates/look-ups.ts';

const IN_SYNC: ReportedRules = {
  link: 'Connected',
  missing: new Map(),
  actual: undefined,
  unheard: false,
};
const GATE = 'fleet.sdewan.akraino.org/handed-over';
const labels = { sdewanPurpose: 'cnf-1' };
const template = (image: string, of: object = labels) => ({
  metadata: { labels: of },
  spec: { containers: [{ name: 'openwrt', image }] },
});

let api: FakeFleetApi;
let registry: Registry;
let events: RecordedEvent[];
/** Device -> addresses of each pod. */
let networks: ReadonlyMap<string, readonly string[]>;
let counters: Counters | undefined;
let standing: ((pod: string) => ReportedRules) | undefined;
let agents: AgentsHeard;
/** By image: what its registry says. */
let tags: Map<string, TagAnswer>;
let fleet: FleetController;
/** By pod: what the agents were told last; they have it in force at once. */
let told: Map<string, number>;
/** By uid of a pod: what its agent is to restart, and what it has. */
let toRestart: Map<string, RestartOrder | undefined>;
let restarted: Map<string, ServedRestart>;
/** By uid of a pod: why it has no addresses. */
let addressWaits: Map<string, string>;
let stop: AbortController;
let running: Promise<void>;
beforeEach(() => {
  vi.useFakeTimers();
  api = new FakeFleetApi();
  events = [];
  told = new Map();
  addressWaits = new Map();
  [toRestart, restarted] = [new Map(), new Map()];
  tags = new Map();
  networks = new Map();
  counters = undefined;
  standing = () => IN_SYNC;
  agents = { heard: 10, known: 10 };
  stop = new AbortController();
});
afterEach(async () => {
  stop.abort();
  await running;
  vi.useRealTimers();
});

const cnf = (name: string, image: string, spec: object = {}): void => {
  const own = { ...labels, sdewanPurpose: name };
  const known = api.get('cnfdeployments', name);
  api.put(cnfDeploymentResource, {
    ...known,
    metadata: { ...known?.metadata, name },
    spec: {
      replicas: 1,
      strategy: 'RollingUpdate',
      surge: '100%',
      selector: { matchLabels: own },
      template: template(image, own),
      soakSeconds: 30,
      progressDeadline: '15m',
      createTimeout: '10m',
      healthTimeout: '0s',
      onFailure: 'Rollback',
      paused: false,
      ...spec,
    },
  });
};

/** As the controller of Deployments would: the set of that revision, with a pod of that name. */
const kubernetesMakes = (
  revision: number,
  pod: { gate?: 'False' | 'True'; name?: string } = {},
): void => {
  const set = `hash${revision}`;
  const deployment = api.get('deployments', 'cnf-1');
  if (!deployment) throw new Error('there is no Deployment');
  const { metadata } = deployment;
  const annotations = { 'deployment.kubernetes.io/revision': String(revision) };
  api.put(fleetDeployments, {
    ...deployment,
    metadata: { ...metadata, annotations },
    status: { observedGeneration: metadata.generation },
  });
  const ownerOf = (kind: string, name: string, uid: string) => [
    { apiVersion: 'apps/v1', kind, name, uid, controller: true },
  ];
  const made = api.put(fleetReplicaSets, {
    metadata: {
      name: `cnf-1-${set}`,
      annotations,
      labels: { ...labels, 'pod-template-hash': set },
      ownerReferences: ownerOf('Deployment', 'cnf-1', metadata.uid),
    },
    spec: { template: Object(deployment['spec']).template },
  });
  const isReady = pod.gate !== 'False';
  api.put(fleetPods, {
    metadata: {
      name: `cnf-1-${set}-${pod.name ?? 'a'}`,
      labels: { ...labels, 'pod-template-hash': set },
      ownerReferences: ownerOf('ReplicaSet', made.metadata.name, made.metadata.uid),
    },
    spec: { containers: [], readinessGates: pod.gate ? [{ conditionType: GATE }] : [] },
    status: {
      phase: 'Running',
      conditions: [
        { type: 'ContainersReady', status: 'True' },
        { type: 'Ready', status: isReady ? 'True' : 'False' },
      ],
    },
  });
};

const start = (): void => {
  registry = new Registry();
  fleet = createFleetController({
    client: api.client(),
    namespace: undefined,
    standings: () => {
      const of = standing;
      return of && ((pod) => ({ ...of(pod.name), actual: told.get(pod.uid) }));
    },
    orders: {
      agentsHeard: () => agents,
      begin: () => told.clear(),
      give: (_, orders) => {
        told = new Map([...orders].map(([uid, { distance }]) => [uid, distance]));
        toRestart = new Map([...orders].map(([uid, { restart }]) => [uid, restart]));
      },
    },
    versionOf: () => '1.0.0',
    addressesOf: () => networks,
    countersOf: () => counters,
    lookUps: { get: (image) => ({ answer: tags.get(image), againInMs: 300_000 }) },
    restartedBy: (uid) => restarted.get(uid),
    reportedAt: () => undefined,
    addressWaitOf: (uid) => addressWaits.get(uid),
    record: (event) => events.push(event),
    metrics: NO_METRICS,
    rollOuts: createRollOutMetrics(registry, { leads: () => true, clock: systemClock }),
    leadership: ALWAYS_LEADING,
    clock: { ...systemClock, sleep: sleepOn(systemClock.after) },
    log: silentLogger,
  });
  running = fleet.run(stop.signal);
};

const pass = (seconds = 1): Promise<unknown> => vi.advanceTimersByTimeAsync(seconds * 1_000);
const look = async (): Promise<void> => {
  fleet.mark({ namespace: NAMESPACE, purpose: 'cnf-1' });
  await pass();
};
const statusOf = (name = 'cnf-1'): CnfDeploymentStatus =>
  Object(api.get('cnfdeployments', name))['status'] ?? {};
const conditionOf = (type: string) =>
  statusOf().conditions?.find((condition) => condition.type === type);
const reasons = (): string[] => events.map(({ reason }) => reason);

/** The next such write takes effect, and its answer does not come. */
const losesAnswer = (write: string): void => {
  let isLost = false;
  api.fate = (one) => {
    if (isLost || one !== write) return undefined;
    isLost = true;
    return 'lost';
  };
};
const toldOf = (reason: string): number => reasons().filter((one) => one === reason).length;

const serve = async (spec: object = {}): Promise<void> => {
  cnf('cnf-1', 'openwrt:1', spec);
  start();
  await pass();
  kubernetesMakes(1);
  await look();
};

it('makes a Deployment that it controls, and says when its first set serves', async () => {
  await serve();
  const deployment = api.get('deployments', 'cnf-1');
  expect(deployment?.metadata.ownerReferences).toMatchObject([
    { kind: 'CNFDeployment', name: 'cnf-1', controller: true },
  ]);
  expect(deployment?.metadata.labels).toMatchObject(labels);
  expect(statusOf()).toMatchObject({ stage: 'Current', currentRevision: 'hash1' });
  expect(conditionOf('Available')?.status).toBe('True');
  expect(api.get('pods', 'cnf-1-hash1-a')?.metadata.labels).toMatchObject({
    'sdewan.akraino.org/active': 'true',
  });
  expect(reasons()).toContain('Current');
});

it('writes nothing at rest', async () => {
  await serve();
  await pass(5);
  const before = api.writes.length;
  await look();
  await pass(3_600);
  expect(api.writes.slice(before)).toEqual([]);
});

it('writes other addresses of a CNF when the minute is over, without anything happening', async () => {
  await serve();
  await pass(5);
  const written = () => Object(api.get('cnfs', 'cnf-1-hash1-a'))['status'].networks;
  expect(written()).toBeUndefined();
  for (const address of ['10.0.0.2', '10.0.0.3', '10.0.0.4']) {
    networks = new Map([['net1', [address]]]);
    await look();
    await pass(5);
    expect(written()).toEqual([{ device: 'net1', addresses: ['10.0.0.2'] }]);
  }
  const before = api.writes.length;
  await pass(60);
  expect(written()).toEqual([{ device: 'net1', addresses: ['10.0.0.4'] }]);
  expect(api.writes.slice(before)).toEqual(['patch cnfs/cnf-1-hash1-a']);
  await pass(3_600);
  expect(api.writes).toHaveLength(before + 1);
});

it('writes a CNF once a minute at most, however often its counters and addresses are others', async () => {
  await serve();
  await pass(5);
  const before = api.writes.length;
  const MINUTES = 10;
  for (let at = 0; at < MINUTES * 30; at += 1) {
    counters = { interfaces: [], denied: [{ policy: 'e/p', direction: 'ingress', packets: at }] };
    networks = new Map([['net1', [`10.0.${at % 3}.1`]]]);
    await look();
    await pass(1);
  }
  const written = api.writes.slice(before);
  expect(new Set(written)).toEqual(new Set(['patch cnfs/cnf-1-hash1-a']));
  expect(written.length).toBeGreaterThanOrEqual(MINUTES - 1);
  expect(written.length).toBeLessThanOrEqual(MINUTES + 1);
  await pass(60);
  expect(Object(api.get('cnfs', 'cnf-1-hash1-a'))['status'].counters).toEqual(counters);
  const last = api.writes.length;
  await pass(3_600);
  expect(api.writes).toHaveLength(last);
});

it('writes other counters of a CNF once a minute, by one call, without a look at its CNFDeployment', async () => {
  await serve();
  const count = (packets: number): void => {
    counters = { interfaces: [], denied: [{ policy: 'e/p', direction: 'ingress', packets }] };
    fleet.markObserved({ namespace: NAMESPACE, name: 'cnf-1-hash1-a' });
  };
  count(1);
  await pass(120);
  const before = { reads: api.reads.length, writes: api.writes.length };
  const written = () => api.writes.slice(before.writes);
  const write = 'patch cnfs/cnf-1-hash1-a';
  count(2);
  await pass(10);
  expect(written()).toEqual([write]);
  count(3);
  await pass(48);
  expect(written()).toEqual([write]);
  await pass(60);
  expect(written()).toEqual([write, write]);
  expect(Object(api.get('cnfs', 'cnf-1-hash1-a'))['status'].counters).toEqual(counters);
  expect(api.reads.slice(before.reads)).toEqual([]);
});

it('does nothing before pods and rules are known', async () => {
  standing = undefined;
  cnf('cnf-1', 'openwrt:1');
  start();
  await pass(60);
  expect(api.writes).toEqual([]);
  standing = () => IN_SYNC;
  await pass();
  expect(api.writes).toContain('create deployments/cnf-1');
});

it('hands over label and gate by one call, and goes on after a conflict', async () => {
  await serve();
  cnf('cnf-1', 'openwrt:2');
  await look();
  kubernetesMakes(2, { gate: 'False' });
  const pod = 'pods/cnf-1-hash2-a';
  api.refusals.set(`status ${pod}`, { status: 409, reason: 'Conflict' });
  const before = api.writes.length;
  await look();
  expect(statusOf().stage).not.toBe('HandedOver');
  api.refusals.clear();
  await pass(60);
  const calls = api.writes.slice(before).filter((write) => write.includes(pod));
  expect(new Set(calls)).toEqual(new Set([`status ${pod}`]));
  expect(api.get('pods', 'cnf-1-hash2-a')?.metadata.labels).toMatchObject({
    'sdewan.akraino.org/active': 'true',
  });
  expect(Object(api.get('pods', 'cnf-1-hash2-a'))['status'].conditions).toContainEqual(
    expect.objectContaining({ type: GATE, status: 'True' }),
  );
  expect(statusOf()).toMatchObject({ stage: 'HandedOver', stagedRevision: 'hash2' });
});

const soaks = async (spec: object = {}): Promise<void> => {
  await serve(spec);
  cnf('cnf-1', 'openwrt:2', spec);
  await look();
  kubernetesMakes(2, { gate: 'True' });
  await look();
};
const imageOf = (): unknown => {
  const { spec } = Object(api.get('deployments', 'cnf-1'));
  return spec.template.spec.containers[0].image;
};

it('lets a newer template wait until the set that soaks has given the traffic back', async () => {
  await soaks();
  const before = api.writes.length;
  cnf('cnf-1', 'openwrt:3');
  await look();
  const writes = api.writes.slice(before);
  const [taken, asked] = ['status pods/cnf-1-hash2-a', 'replace deployments/cnf-1'];
  expect(writes.filter((write) => [taken, asked].includes(write))).toEqual([taken, asked]);
  expect(imageOf()).toBe('openwrt:3');
});

it('lets a newer template wait until Kubernetes has seen that, since it would take the proven pods instead', async () => {
  await soaks();
  const count = (availableReplicas: number): void => {
    const deployment = api.get('deployments', 'cnf-1');
    if (!deployment) throw new Error('there is no Deployment');
    const status = { ...Object(deployment['status']), availableReplicas };
    api.put(fleetDeployments, { ...deployment, status });
  };
  count(2);
  cnf('cnf-1', 'openwrt:3');
  await look();
  await pass(5);
  expect(imageOf()).toBe('openwrt:2');
  expect(statusOf().waitsFor).toEqual([
    'a newer template, for which the set before it loses the traffic',
  ]);
  count(1);
  await pass(5);
  expect(imageOf()).toBe('openwrt:3');
});

it('pod by pod, Kubernetes puts the proven pods back before a newer template is tried', async () => {
  const surge = { surge: 1, replicas: 2 };
  await soaks(surge);
  expect(api.get('deployments', 'cnf-1')).toMatchObject({
    spec: { strategy: { rollingUpdate: { maxSurge: 1, maxUnavailable: 0 } } },
  });
  cnf('cnf-1', 'openwrt:3', surge);
  await look();
  expect(imageOf()).toBe('openwrt:1');
  kubernetesMakes(1);
  await look();
  await pass(5);
  expect(imageOf()).toBe('openwrt:1');
  api.remove('pods', 'cnf-1-hash2-a');
  await pass(5);
  expect(imageOf()).toBe('openwrt:3');
});

const standby = (): void => {
  const active = api.get('pods', 'cnf-1-hash1-a');
  if (!active) throw new Error('there is no pod');
  api.put(fleetPods, {
    ...active,
    metadata: {
      ...active.metadata,
      uid: 'uid-standby',
      name: 'cnf-1-hash1-b',
      labels: { ...labels, 'pod-template-hash': 'hash1' },
    },
  });
};
const activeOf = (): string[] =>
  ['a', 'b'].filter(
    (name) =>
      api.get('pods', `cnf-1-hash1-${name}`)?.metadata.labels?.['sdewan.akraino.org/active'] ===
      'true',
  );

it('gives a standby the label when the active pod is gone, after the status says so', async () => {
  await serve();
  standby();
  await look();
  // Which pod has confirmed it is said two seconds later.
  await pass(3);
  expect(statusOf()).toMatchObject({
    active: 'cnf-1-hash1-a',
    distances: [
      { pod: 'cnf-1-hash1-a', distance: 0, confirmed: true },
      { pod: 'cnf-1-hash1-b', distance: 1, confirmed: true },
    ],
  });
  expect(activeOf()).toEqual(['a']);
  const before = api.writes.length;
  api.remove('pods', 'cnf-1-hash1-a');
  await look();
  expect(api.writes.slice(before, before + 2)).toEqual([
    'status cnfdeployments/cnf-1',
    'patch pods/cnf-1-hash1-b',
  ]);
  expect(activeOf()).toEqual(['b']);
});

it('gives a standby the label when the agent of the active pod is not heard, and leaves it there when that is heard again', async () => {
  await serve();
  standby();
  await look();
  standing = (pod) => ({ ...IN_SYNC, unheard: pod.endsWith('-a') });
  await look();
  await look();
  expect(activeOf()).toEqual(['b']);
  standing = () => IN_SYNC;
  await look();
  await look();
  expect(activeOf()).toEqual(['b']);
  expect(statusOf().active).toBe('cnf-1-hash1-b');
});

it('says on a pod that its weight is no integer, once, and takes it as 0', async () => {
  await serve();
  const pod = api.get('pods', 'cnf-1-hash1-a');
  const annotations = { 'fleet.sdewan.akraino.org/weight': 'heavy' };
  api.put(fleetPods, { ...pod, metadata: { name: '', ...pod?.metadata, annotations } });
  await look();
  await look();
  expect(events.filter(({ reason }) => reason === 'WeightInvalid')).toMatchObject([
    { object: { kind: 'Pod', metadata: { name: 'cnf-1-hash1-a' } }, once: true },
  ]);
});

it('leaves a set that was given up as it is with onFailure Pause, without traffic', async () => {
  const spec = { progressDeadline: '10s', onFailure: 'Pause' };
  await serve(spec);
  cnf('cnf-1', 'openwrt:2', spec);
  await look();
  kubernetesMakes(2, { gate: 'False' });
  standing = (pod) => (pod.includes('hash2') ? { ...IN_SYNC, link: 'Silent' } : IN_SYNC);
  await look();
  const before = api.writes.length;
  await pass(60);
  expect(statusOf()).toMatchObject({ stage: 'Failed', failedRevision: 'hash2' });
  expect(imageOf()).toBe('openwrt:2');
  const writes = api.writes.slice(before);
  expect(writes.filter((write) => / (deployments|pods)\//.test(write))).toEqual([]);
});

it('tells and counts a set that was given up when no answer to that came, and goes back', async () => {
  await serve({ progressDeadline: '10s' });
  cnf('cnf-1', 'openwrt:2', { progressDeadline: '10s' });
  await look();
  kubernetesMakes(2, { gate: 'False' });
  standing = (pod) => (pod.includes('hash2') ? { ...IN_SYNC, link: 'Silent' } : IN_SYNC);
  await pass(6);
  expect(statusOf().stage).toBe('Staged');
  losesAnswer('status cnfdeployments/cnf-1');
  await pass(10);
  expect(toldOf('RollOutFailed')).toBe(1);
  expect(await registry.metrics()).toContain('sdewan_coordinator_rollouts_failed_total 1');
  expect(imageOf()).toBe('openwrt:1');
});

it('counts in which stage it is, and for how long no ready pod has the traffic', async () => {
  await serve();
  await look();
  expect(await registry.metrics()).toContain(
    'sdewan_coordinator_rollout_stage{namespace="edge",purpose="cnf-1",stage="Current"} 1',
  );
  const pod = api.get('pods', 'cnf-1-hash1-a');
  const conditions = [{ type: 'Ready', status: 'False' }];
  const metadata = { name: 'cnf-1-hash1-a', ...pod?.metadata };
  api.put(fleetPods, { ...pod, metadata, status: { phase: 'Running', conditions } });
  await look();
  await pass(10);
  const lost = /unserved_seconds_total (\d+)/.exec(await registry.metrics())?.[1];
  expect(Number(lost)).toBeGreaterThanOrEqual(10);
});

it('undoes what was changed in the Deployment, with an Event', async () => {
  await serve();
  const deployment = api.get('deployments', 'cnf-1');
  const spec = Object(deployment)['spec'];
  api.put(fleetDeployments, {
    ...deployment,
    metadata: { name: 'cnf-1', ...deployment?.metadata },
    spec: { ...spec, replicas: 3 },
  });
  await look();
  expect(api.get('deployments', 'cnf-1')).toMatchObject({ spec: { replicas: 1 } });
  expect(reasons().filter((reason) => reason === 'DeploymentReverted')).toHaveLength(1);
});

it('tells that it was undone when no answer to that came', async () => {
  await serve();
  const { metadata, ...deployment } = api.get('deployments', 'cnf-1') ?? { metadata: { name: '' } };
  const spec = { ...Object(deployment).spec, replicas: 3 };
  losesAnswer('replace deployments/cnf-1');
  api.put(fleetDeployments, { ...deployment, metadata, spec });
  await look();
  await pass(5);
  expect(api.get('deployments', 'cnf-1')).toMatchObject({ spec: { replicas: 1 } });
  expect(toldOf('DeploymentReverted')).toBe(1);
});

it('leaves a Deployment of another owner alone, and says so', async () => {
  api.put(fleetDeployments, { metadata: { name: 'cnf-1' }, spec: { template: {} } });
  cnf('cnf-1', 'openwrt:1');
  start();
  await pass(60);
  expect(conditionOf('Degraded')).toMatchObject({ status: 'True', reason: 'NameTaken' });
  expect(api.writes.filter((write) => write.includes('deployments/cnf-1'))).toEqual([
    'status cnfdeployments/cnf-1',
  ]);
  expect(new Set(events.map(({ reason, once }) => `${reason} ${once}`))).toEqual(
    new Set(['NameTaken true']),
  );
});

it('knows which set of an adopted Deployment serves before it writes the Deployment', async () => {
  await serve();
  const deployment = api.get('deployments', 'cnf-1');
  stop.abort();
  await running;
  api.remove('cnfdeployments', 'cnf-1');
  cnf('cnf-1', 'openwrt:2');
  const before = api.writes.length;
  stop = new AbortController();
  start();
  await pass(5);
  expect(api.writes.slice(before, before + 2)).toEqual([
    'status cnfdeployments/cnf-1',
    'replace deployments/cnf-1',
  ]);
  expect(statusOf()).toMatchObject({ currentRevision: 'hash1' });
  expect(api.get('deployments', 'cnf-1')?.metadata.uid).toBe(deployment?.metadata.uid);
});

it('sends no template that is too large, and says how large it may be', async () => {
  cnf('cnf-1', 'a'.repeat(65_536));
  start();
  await pass(60);
  expect(conditionOf('Degraded')).toMatchObject({
    status: 'True',
    reason: 'TooLarge',
    message: expect.stringContaining('at most 65536'),
  });
  expect(api.writes).toEqual(['status cnfdeployments/cnf-1']);
});

it('sends no template where it may not write Deployments, and asks again after a minute at most', async () => {
  api.mayNot.add('create deployments');
  cnf('cnf-1', 'openwrt:1');
  start();
  await pass(600);
  expect(conditionOf('Degraded')).toMatchObject({
    status: 'True',
    reason: 'Forbidden',
    message: expect.stringContaining('it may not create deployments.apps there'),
  });
  expect(conditionOf('RBACProvisioned')?.status).toBe('False');
  expect(api.writes).toEqual(['status cnfdeployments/cnf-1']);
  expect(api.rightsAsked.length).toBeLessThan(100);
  api.mayNot.clear();
  await pass(60);
  expect(api.get('deployments', 'cnf-1')).toBeDefined();
  kubernetesMakes(1);
  await look();
  expect(conditionOf('RBACProvisioned')?.status).toBe('True');
});

it.each([
  ['Forbidden', { status: 403, reason: 'Forbidden' }, 'bind ClusterRole sdewan-fleet'],
  ['Refused', { status: 409, reason: 'Conflict' }, ''],
])(
  'says why it may not make the Deployment, and tries again: %s',
  async (reason, refusal, words) => {
    api.refusals.set('create deployments/cnf-1', refusal);
    cnf('cnf-1', 'openwrt:1');
    start();
    await pass();
    expect(conditionOf('Degraded')).toMatchObject({
      status: 'True',
      reason,
      message: expect.stringContaining(words),
    });
    api.refusals.clear();
    await pass(30);
    expect(api.get('deployments', 'cnf-1')).toBeDefined();
  },
);

it('says nothing of a Deployment that another client made a moment ago, and looks again', async () => {
  api.refusals.set('create deployments/cnf-1', { status: 409, reason: 'AlreadyExists' });
  cnf('cnf-1', 'openwrt:1');
  start();
  await pass(5);
  expect(statusOf()).toEqual({});
});

it('looks at the CNFDeployment of its own CNF only for a report', async () => {
  await serve();
  cnf('cnf-2', 'openwrt:1');
  await pass(60);
  api.reads.length = 0;
  fleet.mark({ namespace: NAMESPACE, purpose: 'cnf-3' });
  fleet.mark({ namespace: 'elsewhere', purpose: 'cnf-1' });
  fleet.mark({ namespace: NAMESPACE, purpose: undefined });
  await pass();
  expect(api.reads).toEqual([]);
  await look();
  expect(new Set(api.reads)).toEqual(new Set(['cnfdeployments/cnf-1', 'deployments/cnf-1']));
});

const setStatus = (name: string): unknown => Object(api.get('cnfsets', name))['status'];
const writesOfMirror = (since: number): string[] =>
  api.writes.slice(since).filter((write) => / cnf(set)?s\//.test(write));

it('keeps a CNFSet for each revision and a CNF for each pod, each with its status by one call', async () => {
  await serve();
  await pass(5);
  expect(writesOfMirror(0).slice(0, 2)).toEqual([
    'create cnfsets/cnf-1-hash1',
    'create cnfs/cnf-1-hash1-a',
  ]);
  expect(api.get('cnfsets', 'cnf-1-hash1')).toMatchObject({
    metadata: { ownerReferences: [{ kind: 'CNFDeployment', name: 'cnf-1', controller: true }] },
    spec: { deployment: 'cnf-1', revision: 1, templateHash: 'hash1' },
    status: { stage: 'Current', outcome: 'Proven', replicas: 1, ready: 1, inSync: 1 },
  });
  expect(api.get('cnfs', 'cnf-1-hash1-a')).toMatchObject({
    metadata: { ownerReferences: [{ kind: 'Pod', name: 'cnf-1-hash1-a', controller: true }] },
    spec: { deployment: 'cnf-1', templateHash: 'hash1' },
    status: { phase: 'Running', podUID: 'uid-pods-cnf-1-hash1-a' },
  });
});

it('makes a CNF anew that was deleted, and its pod stays', async () => {
  await serve();
  await pass(5);
  const before = api.get('pods', 'cnf-1-hash1-a');
  api.remove('cnfs', 'cnf-1-hash1-a');
  await pass(5);
  expect(api.get('cnfs', 'cnf-1-hash1-a')).toBeDefined();
  expect(api.get('pods', 'cnf-1-hash1-a')).toEqual(before);
});

it('leaves the CNF of a pod that goes to Kubernetes, and removes that of one that has ended and stays', async () => {
  await serve();
  standby();
  await look();
  await pass(5);
  const { metadata, ...pod } = api.get('pods', 'cnf-1-hash1-b') ?? { metadata: { name: '' } };
  api.put(fleetPods, { ...pod, metadata, status: { phase: 'Failed', reason: 'Evicted' } });
  api.remove('pods', 'cnf-1-hash1-a');
  const before = api.writes.length;
  await look();
  await pass(30);
  expect(writesOfMirror(before).filter((write) => write.startsWith('delete'))).toEqual([
    'delete cnfs/cnf-1-hash1-b',
  ]);
});

describe('what a roll-out writes', () => {
  const becomesReady = (name: string): void => {
    const pod = api.get('pods', name) ?? { metadata: { name } };
    const conditions = [
      ...Object(pod).status.conditions.filter(({ type }: { type: string }) => type !== 'Ready'),
      { type: 'Ready', status: 'True' },
    ];
    api.put(fleetPods, { ...pod, status: { phase: 'Running', conditions } });
  };
  const rolled = async (
    soakSeconds: number,
    names: readonly string[] = ['a'],
    fate: typeof api.fate = () => undefined,
  ): Promise<string[]> => {
    const spec = { soakSeconds, replicas: names.length };
    cnf('cnf-1', 'openwrt:1', spec);
    start();
    await pass();
    for (const name of names) kubernetesMakes(1, { name });
    await look();
    await pass(60);
    const before = api.writes.length;
    api.fate = fate;
    cnf('cnf-1', 'openwrt:2', spec);
    await look();
    standing = (name) => (name.includes('hash2') ? { ...IN_SYNC, link: 'Unknown' } : IN_SYNC);
    for (const name of names) {
      kubernetesMakes(2, { gate: 'False', name });
      await pass(1.5);
    }
    const lacks = new Map([['FirewallRule a', { refused: false, reason: 'NotApplied' }]]);
    // Not each moment of it is told: for half a second it is Connected.
    standing = (name) => (name.includes('hash2') ? { ...IN_SYNC, missing: lacks } : IN_SYNC);
    await look();
    standing = () => IN_SYNC;
    await pass(2);
    expect(statusOf().stage).toBe('HandedOver');
    for (const name of names) becomesReady(`cnf-1-hash2-${name}`);
    await pass(2);
    expect(statusOf().stage).toBe('Soaking');
    await pass(soakSeconds - 1);
    for (const name of names) api.remove('pods', `cnf-1-hash1-${name}`);
    await pass(60);
    expect(statusOf().stage).toBe('Current');
    return api.writes.slice(before).toSorted();
  };
  const expected = (names: readonly string[], more: readonly string[] = []): string[] =>
    [
      'replace deployments/cnf-1',
      // Staged, Swapping, HandedOver, Soaking, Current.
      ...Array.from({ length: 5 }, () => 'status cnfdeployments/cnf-1'),
      'patch pods/cnf-1-hash1-a',
      'create cnfsets/cnf-1-hash2',
      ...names.flatMap((name) => [
        `status pods/cnf-1-hash2-${name}`,
        `create cnfs/cnf-1-hash2-${name}`,
        `patch cnfs/cnf-1-hash2-${name}`,
      ]),
      'patch cnfsets/cnf-1-hash1',
      'patch cnfsets/cnf-1-hash2',
      ...more,
    ].toSorted();

  it.each([3, 30])('is 13 writes for one pod when it soaks for %d seconds', async (soakSeconds) => {
    expect(await rolled(soakSeconds)).toEqual(expected(['a']));
  });

  it('is 19 writes for three pods that come one after the other', async () => {
    const names = ['a', 'b', 'c'];
    expect(await rolled(30, names)).toEqual(expected(names));
  });

  it('is two more when it soaks for longer than a minute', async () => {
    const more = ['patch cnfsets/cnf-1-hash2', 'patch cnfs/cnf-1-hash1-a'];
    expect(await rolled(90)).toEqual(expected(['a'], more));
  });

  const writes = Array.from({ length: expected(['a']).length }, (_, index) => index + 1);
  it.each(writes.flatMap((nth) => [[nth, 'lost'] as const, [nth, 'overtaken'] as const]))(
    'is done once, and told once, when the answer to write %i is %s',
    async (nth, fate) => {
      let written = 0;
      await rolled(30, ['a'], () => {
        written += 1;
        return written === nth ? fate : undefined;
      });
      expect(reasons()).toEqual([
        'Current',
        'Staged',
        'Swapping',
        'HandedOver',
        'Soaking',
        'Current',
      ]);
      expect(api.get('deployments', 'cnf-1')?.metadata.generation).toBe(2);
      expect(statusOf()).toMatchObject({
        stage: 'Current',
        currentRevision: 'hash2',
        active: 'cnf-1-hash2-a',
        distances: [{ pod: 'cnf-1-hash2-a', distance: 0, confirmed: true }],
      });
      expect(statusOf()).not.toHaveProperty('staged');
      expect(api.get('pods', 'cnf-1-hash2-a')).toMatchObject({
        metadata: { labels: { 'sdewan.akraino.org/active': 'true' } },
        status: {
          conditions: expect.arrayContaining([
            expect.objectContaining({ type: GATE, status: 'True' }),
          ]),
        },
      });
      expect(setStatus('cnf-1-hash1')).toMatchObject({ stage: 'Replaced', outcome: 'Proven' });
      expect(setStatus('cnf-1-hash2')).toMatchObject({ stage: 'Current', outcome: 'Proven' });
      expect(api.get('cnfs', 'cnf-1-hash2-a')).toMatchObject({ status: { phase: 'Running' } });
    },
  );

  it('begins with the template of before when it is given up', async () => {
    await serve({ progressDeadline: '10s' });
    await pass(60);
    cnf('cnf-1', 'openwrt:2', { progressDeadline: '10s' });
    await look();
    kubernetesMakes(2, { gate: 'False' });
    standing = (pod) => (pod.includes('hash2') ? { ...IN_SYNC, link: 'Silent' } : IN_SYNC);
    await pass(6);
    const before = api.writes.length;
    await pass(10);
    expect(api.writes.slice(before, before + 2)).toEqual([
      'status cnfdeployments/cnf-1',
      'replace deployments/cnf-1',
    ]);
    expect(statusOf().stage).toBe('Failed');
  });
});

it('removes what is left of a CNFDeployment that is gone', async () => {
  await serve();
  await pass(5);
  api.remove('cnfdeployments', 'cnf-1');
  stop.abort();
  await running;
  stop = new AbortController();
  start();
  await pass(10);
  expect([api.get('cnfs', 'cnf-1-hash1-a'), api.get('cnfsets', 'cnf-1-hash1')]).toEqual([
    undefined,
    undefined,
  ]);
  expect(api.get('pods', 'cnf-1-hash1-a')).toBeDefined();
});

it('writes a CNF whose agent comes and goes at most once in two seconds', async () => {
  await serve();
  await pass(5);
  const before = api.writes.length;
  for (let second = 0; second < 20; second += 1) {
    const link = second % 2 === 0 ? 'Silent' : 'Connected';
    standing = () => ({ ...IN_SYNC, link });
    await look();
  }
  const writes = writesOfMirror(before).filter((write) => write.includes('cnfs/'));
  expect(writes.length).toBeGreaterThan(2);
  expect(writes.length).toBeLessThanOrEqual(11);
});

it('goes on with a roll-out where it may write no CNFSets', async () => {
  api.refusals.set('create cnfsets/cnf-1-hash1', { status: 403, reason: 'Forbidden' });
  await serve();
  await pass(5);
  expect(statusOf()).toMatchObject({ stage: 'Current', currentRevision: 'hash1' });
  expect(conditionOf('Degraded')?.status).toBe('False');
});

describe('a pod whose agent is silent for longer than spec.healthTimeout', () => {
  const second = 'cnf-1-hash1-b';
  const twoPods = async (): Promise<void> => {
    cnf('cnf-1', 'openwrt:1', { replicas: 2, healthTimeout: '60s' });
    start();
    await pass();
    kubernetesMakes(1);
    const { metadata, ...pod } = api.get('pods', 'cnf-1-hash1-a') ?? { metadata: { name: '' } };
    const { uid: _uid, ...rest } = { uid: '', ...metadata };
    api.put(fleetPods, { ...pod, metadata: { ...rest, name: second } });
    await look();
    await pass(5);
  };
  const fallsSilent = async (pods: readonly string[] = [second]): Promise<void> => {
    standing = (pod) => (pods.includes(pod) ? { ...IN_SYNC, link: 'Silent' } : IN_SYNC);
    await look();
    await pass(5);
  };

  it('is deleted once, and told once, when no answer to that came', async () => {
    await twoPods();
    await fallsSilent();
    losesAnswer(`delete pods/${second}`);
    await pass(60);
    expect(api.writes.filter((write) => write === `delete pods/${second}`)).toHaveLength(1);
    expect(toldOf('PodReplaced')).toBe(1);
    expect(await registry.metrics()).toContain('rollout_pods_replaced_total 1');
  });

  it('is so long silent for the next coordinator as well', async () => {
    await twoPods();
    await fallsSilent();
    await pass(40);
    stop.abort();
    await running;
    stop = new AbortController();
    start();
    await pass(10);
    expect(api.get('pods', second)).toBeDefined();
    await pass(15);
    expect(api.get('pods', second)).toBeUndefined();
  });

  it('stays while agents of fewer than half of the namespaces are heard, and the condition says so', async () => {
    await twoPods();
    agents = { heard: 2, known: 5 };
    await fallsSilent();
    await pass(120);
    expect(api.get('pods', second)).toBeDefined();
    expect(conditionOf('Degraded')).toMatchObject({
      status: 'True',
      reason: 'TooFewAgentsHeard',
      message: expect.stringContaining('agents of only 2 of 5 namespaces report'),
    });
    agents = { heard: 3, known: 5 };
    await look();
    expect(api.get('pods', second)).toBeUndefined();
  });

  it('is not deleted when no other could serve: new pods are made first', async () => {
    await twoPods();
    await fallsSilent(['cnf-1-hash1-a', second]);
    await pass(60);
    expect([api.get('pods', second), api.get('pods', 'cnf-1-hash1-a')]).not.toContain(undefined);
    expect(statusOf().renewal?.pod).toBe('uid-pods-cnf-1-hash1-a');
    expect(api.get('deployments', 'cnf-1')).toMatchObject({
      spec: {
        template: {
          metadata: {
            annotations: { 'fleet.sdewan.akraino.org/renewed-for': 'uid-pods-cnf-1-hash1-a' },
          },
        },
      },
    });
    expect(reasons().filter((reason) => reason === 'SetRenewed')).toHaveLength(1);
  });
});

it('replaces a pod that does not run within spec.createTimeout exactly then, without anything happening', async () => {
  await serve({ replicas: 2, createTimeout: '60s', healthTimeout: '1s' });
  standing = (pod) => (pod.endsWith('-b') ? { ...IN_SYNC, link: 'Silent' } : IN_SYNC);
  standby();
  const { metadata, ...pod } = api.get('pods', 'cnf-1-hash1-b') ?? { metadata: { name: '' } };
  const creationTimestamp = new Date().toISOString();
  // No agent has said anything of it: that is as old as the pod, and no older.
  api.put(fleetPods, { ...pod, metadata: { ...metadata, creationTimestamp }, status: {} });
  await look();
  await pass(55);
  expect(api.get('pods', 'cnf-1-hash1-b')).toBeDefined();
  await pass(10);
  expect(api.get('pods', 'cnf-1-hash1-b')).toBeUndefined();
  expect(toldOf('PodReplaced')).toBe(1);
});

it('scales down by three pods with one write, and each pod says how late it is to be taken', async () => {
  const names = ['a', 'b', 'c', 'd'];
  cnf('cnf-1', 'openwrt:1', { replicas: names.length });
  start();
  await pass();
  for (const name of names) kubernetesMakes(1, { name });
  await look();
  await pass(5);
  const costs = names.map((name) => {
    const { annotations = {} } = api.get('pods', `cnf-1-hash1-${name}`)?.metadata ?? {};
    return Number(annotations['controller.kubernetes.io/pod-deletion-cost'] ?? 0);
  });
  expect(costs).toEqual([0, -1, -2, -2]);
  const before = api.writes.length;
  cnf('cnf-1', 'openwrt:1', { replicas: 1 });
  await look();
  expect(api.get('deployments', 'cnf-1')).toMatchObject({ spec: { replicas: 1 } });
  const writes = api.writes.slice(before);
  expect(writes.filter((write) => write.includes(' deployments/'))).toEqual([
    'replace deployments/cnf-1',
  ]);
  expect(writes.filter((write) => write.startsWith('delete pods'))).toEqual([]);
});

it('gives a pod that has taken the name of another nothing that was meant for that one', async () => {
  await serve();
  cnf('cnf-1', 'openwrt:2');
  await look();
  kubernetesMakes(2, { gate: 'False' });
  const name = 'cnf-1-hash2-a';
  const lacks = new Map([['FirewallRule a', { refused: false, reason: 'NotApplied' }]]);
  api.fate = (write) => {
    const { metadata, ...pod } = api.get('pods', name) ?? { metadata: { name } };
    if (write !== `status pods/${name}` || metadata.uid === 'uid-other') return undefined;
    standing = (one) => (one === name ? { ...IN_SYNC, missing: lacks } : IN_SYNC);
    api.put(fleetPods, { ...pod, metadata: { ...metadata, uid: 'uid-other' } });
    return undefined;
  };
  await look();
  await pass(30);
  const pod = api.get('pods', name);
  expect(pod?.metadata.uid).toBe('uid-other');
  expect(pod?.metadata.labels).not.toHaveProperty('sdewan.akraino.org/active');
  expect(Object(pod)['status'].conditions).not.toContainEqual(
    expect.objectContaining({ type: GATE }),
  );
  expect(statusOf().waitsFor).toEqual([`FirewallRule a: NotApplied (on ${name})`]);
  expect(api.get('pods', 'cnf-1-hash1-a')?.metadata.labels).toMatchObject({
    'sdewan.akraino.org/active': 'true',
  });
});

it('says which addresses a pod of the next set waits for', async () => {
  await serve();
  cnf('cnf-1', 'openwrt:2');
  await look();
  kubernetesMakes(2, { gate: 'False' });
  const made = api.get('pods', 'cnf-1-hash2-a');
  if (!made) throw new Error('there is no pod');
  const spec = { ...Object(made['spec']), schedulingGates: [{ name: PORTS_GATE }] };
  api.put(fleetPods, { ...made, spec, status: { phase: 'Pending' } });
  const wait = 'waits for its addresses: network edge has no free address: of 1 in 10.1.0.10';
  addressWaits.set('uid-pods-cnf-1-hash2-a', wait);
  await look();
  expect(statusOf().waitsFor).toEqual([`cnf-1-hash2-a: ${wait}`]);
});

const cordon = (name: string): void => {
  api.put(
    { plural: 'nodes', kind: 'Node' },
    { metadata: { name, namespace: '' }, spec: { unschedulable: true } },
  );
};

describe('a cordon of the only pod’s node', () => {
  const onNode = async (changes: object = {}): Promise<void> => {
    await serve(changes);
    place();
    cordon('node-1');
    await look();
  };
  const place = (): void => {
    const { metadata, ...pod } = api.get('pods', 'cnf-1-hash1-a') ?? {};
    const spec = { containers: [], nodeName: 'node-1' };
    api.put(fleetPods, { ...pod, metadata: { ...metadata, name: 'cnf-1-hash1-a' }, spec });
  };

  it('leads to a new set, once', async () => {
    await onNode();
    expect(statusOf().renewal).toEqual({
      pod: 'uid-pods-cnf-1-hash1-a',
      reason: 'pod cnf-1-hash1-a: it is on a node that is cordoned: node-1',
    });
    kubernetesMakes(2, { gate: 'False' });
    await look();
    await pass(60);
    expect(statusOf()).toMatchObject({ stage: 'HandedOver', stagedRevision: 'hash2' });
    expect(reasons().filter((reason) => reason === 'SetRenewed')).toHaveLength(1);
    expect(api.writes.filter((write) => write === 'replace deployments/cnf-1')).toHaveLength(1);
  });

  it('leads to a new set, once, when no answer to the status came', async () => {
    await serve();
    place();
    losesAnswer('status cnfdeployments/cnf-1');
    cordon('node-1');
    await look();
    await pass(5);
    expect(toldOf('SetRenewed')).toBe(1);
    expect(api.writes.filter((write) => write === 'replace deployments/cnf-1')).toHaveLength(1);
  });

  it('leads to no other set after one that fails, which is forgotten when the node takes pods again', async () => {
    await onNode({ progressDeadline: '10s' });
    kubernetesMakes(2, { gate: 'False' });
    standing = (pod) => (pod.includes('hash2') ? { ...IN_SYNC, link: 'Silent' } : IN_SYNC);
    await look();
    await pass(60);
    expect(statusOf()).toMatchObject({ stage: 'Failed', failedRevision: 'hash2' });
    const before = api.writes.filter((write) => write === 'replace deployments/cnf-1').length;
    kubernetesMakes(1);
    place();
    await look();
    await pass(60);
    expect(api.writes.filter((write) => write === 'replace deployments/cnf-1')).toHaveLength(
      before,
    );
    api.remove('nodes', 'node-1');
    await look();
    await pass(60);
    expect(statusOf()).not.toHaveProperty('renewal');
    kubernetesMakes(1);
    await look();
    expect(statusOf().stage).not.toBe('Failed');
  });
});

it('does nothing of one that is being deleted', async () => {
  await serve();
  const known = api.get('cnfdeployments', 'cnf-1');
  const metadata = { name: 'cnf-1', ...known?.metadata, deletionTimestamp: '2026-01-01T00:00:01Z' };
  api.put(cnfDeploymentResource, { ...known, metadata });
  api.remove('deployments', 'cnf-1');
  const before = api.writes.length;
  await look();
  expect(api.writes.slice(before)).toEqual([]);
});

describe('updates in a window', () => {
  const [ONE, TWO, THREE] = ['1', '2', '3'].map((digit) => `sha256:${digit.repeat(64)}`) as [
    string,
    string,
    string,
  ];
  const updates = { schedule: '0 * * * *', duration: '1m', timeZone: 'UTC' };
  const at = (time: string): Promise<unknown> => {
    const ms = Date.parse(`2026-11-29T${time}:00Z`) - Date.now();
    expect(ms).toBeGreaterThanOrEqual(0);
    return vi.advanceTimersByTimeAsync(ms);
  };
  const opensAt = async (time: string): Promise<void> => {
    await at(time);
    await pass();
  };
  const registryHas = (digest: string): unknown => tags.set('openwrt:1', { digest });
  const images = (): unknown => statusOf().resolvedImages;
  const told = (): unknown => {
    const { status, reason } = conditionOf('ImagesCurrent') ?? {};
    return `${status} ${reason}`;
  };
  /** One set serves, with that digest since the window before. */
  const servesWith = async (digest: string, spec: object = {}): Promise<void> => {
    vi.setSystemTime('2026-11-29T00:59:00Z');
    await serve({ updates, ...spec });
    registryHas(digest);
    await opensAt('01:00');
    kubernetesMakes(2, { gate: 'True' });
    await pass(30);
    api.remove('pods', 'cnf-1-hash1-a');
    await at('01:05');
    expect(statusOf()).toMatchObject({ stage: 'Current', currentRevision: 'hash2' });
  };
  const silent = (set: string): void => {
    standing = (pod) => (pod.includes(set) ? { ...IN_SYNC, link: 'Silent' } : IN_SYNC);
  };
  /** The set with the second digest says nothing, until its deadline. */
  const fails = async (spec: object): Promise<void> => {
    await servesWith(ONE, spec);
    registryHas(TWO);
    silent('hash3');
    await opensAt('02:00');
    kubernetesMakes(3, { gate: 'False' });
  };
  /** As Kubernetes does it when the earlier template is there again. */
  const goesBack = async (): Promise<void> => {
    expect(imageOf()).toBe(`openwrt:1@${ONE}`);
    kubernetesMakes(2, { gate: 'True' });
    await look();
    api.remove('pods', 'cnf-1-hash3-a');
    await pass(20);
    // The same template, by its own words.
    kubernetesMakes(2, { gate: 'True' });
    await look();
  };

  it('begin when the window opens, and leave the spec as it is', async () => {
    await servesWith(ONE);
    const spec = JSON.stringify(api.get('cnfdeployments', 'cnf-1')?.['spec']);
    registryHas(TWO);
    await at('01:59');
    expect(imageOf()).toBe(`openwrt:1@${ONE}`);
    expect(statusOf().nextUpdateWindow).toBe('2026-11-29T02:00:00.000Z');
    await opensAt('02:00');
    expect(imageOf()).toBe(`openwrt:1@${TWO}`);
    expect(images()).toEqual([{ image: 'openwrt:1', digest: TWO }]);
    expect(statusOf().nextUpdateWindow).toBeUndefined();
    expect(events.findLast(({ reason }) => reason === 'UpdateBegun')).toMatchObject({
      message: `by its registry, openwrt:1 is ${TWO}`,
    });
    kubernetesMakes(3, { gate: 'False' });
    await look();
    expect(statusOf()).toMatchObject({ stage: 'HandedOver', stagedRevision: 'hash3' });
    expect(JSON.stringify(api.get('cnfdeployments', 'cnf-1')?.['spec'])).toBe(spec);
  });

  it('are in the status before the Deployment has them', async () => {
    await servesWith(ONE);
    registryHas(TWO);
    const before = api.writes.length;
    await opensAt('02:00');
    expect(api.writes.slice(before, before + 2)).toEqual([
      'status cnfdeployments/cnf-1',
      'replace deployments/cnf-1',
    ]);
  });

  it('are not made up for after a window that was missed', async () => {
    await servesWith(ONE);
    standing = undefined;
    await at('01:30');
    registryHas(TWO);
    await at('02:02');
    standing = () => IN_SYNC;
    await at('02:05');
    await look();
    expect(imageOf()).toBe(`openwrt:1@${ONE}`);
    await opensAt('03:00');
    expect(imageOf()).toBe(`openwrt:1@${TWO}`);
  });

  it('change nothing while the registry says the same, or nothing, but for what is said of it', async () => {
    await servesWith(ONE);
    expect(told()).toBe('True AsInRegistry');
    const before = api.writes.length;
    tags.set('openwrt:1', { reason: 'RegistryUnreachable', message: 'openwrt:1: ECONNREFUSED' });
    await at('02:05');
    expect(told()).toBe('False RegistryUnreachable');
    expect(conditionOf('Ready')?.status).toBe('True');
    // The window opens, and closes.
    expect(api.writes.slice(before)).toEqual(Array(2).fill('status cnfdeployments/cnf-1'));
    expect(imageOf()).toBe(`openwrt:1@${ONE}`);
  });

  it('are as they were for a user or program that applies the spec again', async () => {
    await servesWith(ONE);
    const before = api.writes.length;
    cnf('cnf-1', 'openwrt:1', { updates });
    await look();
    await pass(30);
    expect(api.writes.slice(before).filter((write) => /deployments\/cnf-1/.test(write))).toEqual(
      [],
    );
    expect(imageOf()).toBe(`openwrt:1@${ONE}`);
  });

  it('wait for the end of a roll-out, and of spec.paused', async () => {
    await servesWith(ONE);
    registryHas(TWO);
    cnf('cnf-1', 'openwrt:1', { updates, paused: true });
    await look();
    kubernetesMakes(2, { gate: 'True' });
    await opensAt('02:00');
    expect(imageOf()).toBe(`openwrt:1@${ONE}`);
    expect(told()).toBe('False Waiting');
    cnf('cnf-1', 'openwrt:2', { updates });
    await look();
    expect(imageOf()).toBe('openwrt:2');
    tags.set('openwrt:2', { digest: THREE });
    kubernetesMakes(3, { gate: 'False' });
    await look();
    expect(imageOf()).toBe('openwrt:2');
  });

  it('go back at any time, and what failed is not tried again', async () => {
    await fails({ progressDeadline: '90s' });
    await at('02:02');
    await goesBack();
    expect(toldOf('RollOutFailed')).toBe(1);
    expect(statusOf()).toMatchObject({
      stage: 'Current',
      currentRevision: 'hash2',
      resolvedImages: [{ image: 'openwrt:1', digest: ONE }],
      failedImages: { digests: [TWO] },
    });
    expect(told()).toBe('False UpdateFailed');
    expect(conditionOf('ImagesCurrent')?.message).toContain(
      `openwrt:1 as ${TWO}: cnf-1-hash3-a: its agent does not report`,
    );
    await opensAt('03:00');
    expect(told()).toBe('False UpdateFailed');
    registryHas(ONE);
    await look();
    expect(told()).toBe('True AsInRegistry');
    registryHas(TWO);
    await look();
    expect(imageOf()).toBe(`openwrt:1@${ONE}`);
    registryHas(THREE);
    await look();
    expect(imageOf()).toBe(`openwrt:1@${THREE}`);
  });

  it('are tried again after they failed when roll-set has changed', async () => {
    await fails({ progressDeadline: '10s' });
    await pass(20);
    await goesBack();
    const known = api.get('cnfdeployments', 'cnf-1');
    const annotations = { 'fleet.sdewan.akraino.org/roll-set': 'again' };
    api.put(cnfDeploymentResource, {
      ...known,
      metadata: { name: 'cnf-1', ...known?.metadata, annotations },
    });
    standing = () => IN_SYNC;
    await look();
    expect(imageOf()).toBe(`openwrt:1@${TWO}`);
  });

  it('stay without traffic when they fail with onFailure Pause, until there is a third', async () => {
    await fails({ progressDeadline: '10s', onFailure: 'Pause' });
    await pass(20);
    expect(statusOf()).toMatchObject({ stage: 'Failed', failedImages: { digests: [TWO] } });
    expect(imageOf()).toBe(`openwrt:1@${TWO}`);
    registryHas(THREE);
    await look();
    expect(imageOf()).toBe(`openwrt:1@${THREE}`);
  });

  it('are those of the Deployment when the status is lost', async () => {
    await servesWith(ONE);
    registryHas(TWO);
    const { status: _lost, ...kept } = Object(api.get('cnfdeployments', 'cnf-1'));
    api.put(cnfDeploymentResource, { metadata: { name: 'cnf-1' }, ...kept });
    await look();
    await pass(60);
    expect(imageOf()).toBe(`openwrt:1@${ONE}`);
    expect(images()).toEqual([{ image: 'openwrt:1', digest: ONE }]);
  });

  it('are those of the status when another user changes the Deployment', async () => {
    await servesWith(ONE);
    const deployment = api.get('deployments', 'cnf-1');
    const spec = structuredClone(Object(deployment?.['spec']));
    spec.template.spec.containers[0].image = `openwrt:1@${THREE}`;
    api.put(fleetDeployments, { metadata: { name: 'cnf-1' }, ...deployment, spec });
    await look();
    expect(imageOf()).toBe(`openwrt:1@${ONE}`);
  });

  it('leave the tag when the spec has them no more', async () => {
    await servesWith(ONE);
    cnf('cnf-1', 'openwrt:1', { updates: undefined });
    await look();
    expect(imageOf()).toBe('openwrt:1');
    expect(images()).toBeUndefined();
    expect(conditionOf('ImagesCurrent')).toBeUndefined();
  });

  it('are none in a window that cannot be, and the condition says why', async () => {
    await serve({ updates: { ...updates, schedule: '0 0 30 2 *' } });
    await look();
    expect(told()).toBe('False WindowInvalid');
  });
});

describe('a request of a user', () => {
  const POD = 'cnf-1-hash1-a';
  const FLEET = 'fleet.sdewan.akraino.org';
  const annotationsOf = (plural: string, name: string) =>
    api.get(plural, name)?.metadata.annotations ?? {};
  /** As admission lets it through. */
  const ask = async (
    [plural, name]: readonly [string, string],
    what: string,
    { value = 'now', asked = `id-1 alice` } = {},
  ): Promise<void> => {
    const { metadata, ...rest } = api.get(plural, name) ?? { metadata: { name } };
    const annotations = { [`${FLEET}/${what}`]: value, [`${FLEET}/${what}-asked`]: asked };
    const kind = plural === 'cnfs' ? 'CNF' : 'CNFSet';
    api.put({ plural, kind }, { ...rest, metadata: { ...metadata, annotations } });
    await look();
    await pass(5);
  };
  const served = async (): Promise<void> => {
    await serve();
    await pass(5);
  };
  const sets = [
    ['cnfs', POD],
    ['cnfsets', 'cnf-1-hash1'],
  ] as const;

  it.each(sets)('roll-set of %s makes a new set once, and says who asked', async (...object) => {
    await served();
    await ask(object, 'roll-set');
    expect(statusOf().renewal).toEqual({
      pod: 'id-1',
      reason: `${object[0] === 'cnfs' ? 'CNF' : 'CNFSet'} ${object[1]}: alice asks for it`,
    });
    kubernetesMakes(2, { gate: 'False' });
    await look();
    await pass(5);
    expect(annotationsOf(...object)).toEqual({});
    expect(events.filter(({ reason }) => reason === 'SetRenewed')).toMatchObject([
      { message: expect.stringContaining('alice asks for it') },
    ]);
    const writes = api.writes.filter((write) => write === 'replace deployments/cnf-1');
    expect(writes).toHaveLength(1);
  });

  it('roll-set waits for ten minutes after the one before', async () => {
    await served();
    await ask(['cnfs', POD], 'roll-set');
    kubernetesMakes(2, { gate: 'True' });
    await look();
    await pass(60);
    api.remove('pods', POD);
    await look();
    await pass(60);
    expect(statusOf()).toMatchObject({ stage: 'Current', currentRevision: 'hash2' });
    await ask(['cnfs', 'cnf-1-hash2-a'], 'roll-set', { asked: 'id-2 bob' });
    await pass(300);
    expect(statusOf().renewal?.pod).toBe('id-1');
    await pass(180);
    expect(statusOf().renewal?.pod).toBe('id-2');
  });

  it.each<[string, { asked?: string }]>([
    ['that names no user', { asked: 'id-1' }],
    ['with an id that is none', { asked: '../x alice' }],
  ])('%s is none', async (_, how) => {
    await served();
    await ask(['cnfs', POD], 'roll-set', how);
    expect(statusOf()).not.toHaveProperty('renewal');
  });

  it('restart-service is told to the agent until that has served it, and is then taken away', async () => {
    await served();
    const uid = `uid-pods-${POD}`;
    await ask(['cnfs', POD], 'restart-service', { value: 'firewall', asked: 'id-1 al\u001bice' });
    expect(toRestart.get(uid)).toEqual({ id: 'id-1', service: 'firewall' });
    restarted.set(uid, { id: 'id-0', done: true });
    await look();
    expect(toRestart.get(uid)).toBeDefined();
    restarted.set(uid, { id: 'id-1', done: true });
    api.refusals.set(`patch cnfs/${POD}`, { status: 500, reason: 'InternalError' });
    await look();
    expect(reasons()).not.toContain('ServiceRestarted');
    api.refusals.clear();
    await pass(10);
    expect(annotationsOf('cnfs', POD)).toEqual({});
    expect(events.filter(({ reason }) => reason === 'ServiceRestarted')).toMatchObject([
      {
        object: { kind: 'CNF' },
        message: 'the agent has restarted firewall: al ice has asked for it',
      },
    ]);
    await look();
    expect(toRestart.get(uid)).toBeUndefined();
  });

  it('restart-service of what is no such service is not told', async () => {
    await served();
    await ask(['cnfs', POD], 'restart-service', { value: 'network' });
    expect(toRestart.get(`uid-pods-${POD}`)).toBeUndefined();
  });
});
