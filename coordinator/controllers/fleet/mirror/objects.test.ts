import { describe, expect, it } from 'vitest';
import type { Counters } from '#shared/protocol/counters.ts';
import { cnfDeploymentResource } from '#shared/resources/other-kinds/cnf-deployment.ts';
import {
  cnfSetResource,
  type CnfSet,
  type CnfSetStatus,
} from '#shared/resources/other-kinds/cnf-set.ts';
import {
  cnfResource,
  type CnfObject,
  type CnfObjectStatus,
} from '#shared/resources/other-kinds/cnf.ts';
import { timestamp } from '../../../rule-status/wording.ts';
import { fleetReplicaSets } from '../apps.ts';
import type { CnfFacts } from './facts.ts';
import { observedInMs, wantedCnfOf, wantedSetOf } from './objects.ts';
import { steer, type Memory } from '../decide.ts';
import { cnfFacts, facts, missing } from '../testing/facts.ts';

const NOW = Date.parse('2026-01-02T03:04:05Z');
const labels = { sdewanPurpose: 'cnf-1' };
const metadata = (name: string) => ({ name, uid: `uid-${name}`, creationTimestamp: '' });
const cnf = cnfDeploymentResource.schema.parse({
  apiVersion: 'v1',
  kind: 'CNFDeployment',
  metadata: metadata('cnf-1'),
  spec: { selector: { matchLabels: labels }, template: { metadata: { labels }, spec: {} } },
});
const setObject = (set: string, status?: CnfSetStatus): CnfSet =>
  cnfSetResource.schema.parse({
    apiVersion: 'v1',
    kind: 'CNFSet',
    metadata: metadata(set),
    spec: { deployment: 'cnf-1', revision: 3, templateHash: set },
    ...(status && { status }),
  });
const cnfObject = (status: CnfObjectStatus): CnfObject =>
  cnfResource.schema.parse({
    apiVersion: 'v1',
    kind: 'CNF',
    metadata: metadata('old-1'),
    spec: { deployment: 'cnf-1', templateHash: 'old' },
    status,
  });

const setStatusOf = (
  set: string,
  { pods, memory, before }: { pods: readonly CnfFacts[]; memory: Memory; before?: CnfSetStatus },
): CnfSetStatus => {
  const step = steer(facts(pods, { now: NOW, wanted: 'new' }), memory);
  const replicaSet = fleetReplicaSets.schema.parse({
    apiVersion: 'v1',
    kind: 'ReplicaSet',
    metadata: { ...metadata(`cnf-1-${set}`), labels: { 'pod-template-hash': set } },
    spec: { template: {} },
  });
  const view = { now: NOW, sets: [replicaSet], pods, finished: [], step, wanted: 'new' };
  return wantedSetOf(cnf, replicaSet, before && setObject(set, before), view).fields.status;
};

describe('a CNFSet', () => {
  const pods = [
    cnfFacts('old-1'),
    cnfFacts('new-1', { missing: missing('FirewallRule deny-ssh') }),
  ];
  const memory = { current: 'old', staged: { set: 'new', since: NOW } };
  const since = '2026-01-01T00:00:00Z';

  it('has the stage of the roll-out when it is staged, and says what it waits for', () => {
    expect(setStatusOf('new', { pods, memory })).toEqual({
      stage: 'Connected',
      since: '2026-01-02T03:04:05Z',
      replicas: 1,
      ready: 0,
      progressing: 1,
      unhealthy: 0,
      inSync: 0,
      message: 'FirewallRule deny-ssh: WaitingForInterface (on new-1)',
    });
  });

  it.each<[string, string, CnfSetStatus | undefined, CnfSetStatus]>([
    ['that serves is proven', 'old', undefined, { stage: 'Current', outcome: 'Proven' }],
    [
      'that was staged when a newer one came is superseded',
      'between',
      { stage: 'Connected', since },
      { stage: 'Superseded', outcome: 'Superseded' },
    ],
    [
      'that has served is replaced',
      'before',
      { stage: 'Current', since, outcome: 'Proven' },
      { stage: 'Replaced', outcome: 'Proven' },
    ],
    [
      'that has failed stays so, and says why',
      'before',
      { stage: 'Failed', since, outcome: 'Failed', message: 'why' },
      { stage: 'Failed', since, outcome: 'Failed', message: 'why' },
    ],
    ['of which nothing is known is replaced', 'before', undefined, { stage: 'Replaced' }],
    [
      'that has failed and is staged again has no outcome',
      'new',
      { stage: 'Failed', since, outcome: 'Failed', message: 'why' },
      { stage: 'Connected' },
    ],
    [
      'that has served and is staged again has',
      'new',
      { stage: 'Replaced', since, outcome: 'Proven' },
      { stage: 'Connected', outcome: 'Proven' },
    ],
  ])('%s', (_, set, before, expected) => {
    const status = setStatusOf(set, { pods, memory, ...(before && { before }) });
    expect(status).toMatchObject(expected);
    expect(status.outcome).toBe(expected.outcome);
  });

  it('counts pods that crash, and those that are silent after they have run', () => {
    const ill = [
      cnfFacts('old-1', { troubled: true, ready: false }),
      cnfFacts('old-2', { link: 'Silent' }),
      cnfFacts('old-3', { link: 'Silent', ready: false, provisioned: false }),
      cnfFacts('old-4'),
    ];
    expect(setStatusOf('old', { pods: ill, memory: { current: 'old' } })).toMatchObject({
      replicas: 4,
      ready: 1,
      progressing: 1,
      unhealthy: 2,
    });
  });
});

describe('a CNF', () => {
  const wantedOf = (changes: Partial<CnfFacts>, before?: CnfObjectStatus, now = NOW) =>
    wantedCnfOf(cnf, cnfFacts('old-1', changes), before && cnfObject(before), {
      now,
      distance: 1,
    });
  const statusOf = (...given: Parameters<typeof wantedOf>) => wantedOf(...given).fields.status;
  const typesOf = ({ conditions = [] }: CnfObjectStatus): string[] =>
    conditions.map(({ type, status, reason }) => `${type} ${status} ${reason}`);

  it('says how its pod is, and since when', () => {
    const status = statusOf({ createdAt: NOW - 60_000, reportedAt: NOW, actual: 1 });
    expect(status).toMatchObject({
      phase: 'Running',
      node: 'node-1',
      podUID: 'uid-old-1',
      images: ['openwrt:1'],
      lastReport: '2026-01-02T03:04:05Z',
    });
    expect(typesOf(status)).toEqual([
      'Created True Scheduled',
      'Ready True PodReady',
      'Connected True Reports',
      'InSync True Applied',
      'Distance True Confirmed',
      'Provisioned True Provisioned',
    ]);
    expect(status.conditions?.[0]?.lastTransitionTime).toBe('2026-01-02T03:03:05Z');
  });

  it('is not written anew because time passes', () => {
    const status = statusOf({ reportedAt: NOW });
    expect(statusOf({ reportedAt: NOW + 60_000 }, status, NOW + 60_000)).toEqual(status);
  });

  it('keeps when its agent was heard last once that is silent', () => {
    const status = statusOf({ reportedAt: NOW });
    const lost = { link: 'Silent' as const, reportedAt: NOW + 60_000, silentSince: NOW + 60_000 };
    const after = statusOf(lost, status, NOW + 90_000);
    expect(after.lastReport).toBe('2026-01-02T03:05:05Z');
    expect(typesOf(after)).toContain('Connected False AgentSilent');
    expect(after.conditions?.find(({ type }) => type === 'Connected')?.lastTransitionTime).toBe(
      '2026-01-02T03:05:05Z',
    );
    expect(statusOf(lost, after, NOW + 900_000)).toEqual(after);
  });

  it('is as the coordinator before has seen it, until its agent had time to report', () => {
    const status = statusOf({});
    expect(statusOf({ link: 'Unknown' }, status)).toEqual(status);
  });

  it('says which rules it lacks, and that a staged one waits', () => {
    const status = statusOf({
      ready: false,
      gate: 'closed',
      missing: missing('FirewallRule deny-ssh'),
    });
    expect(typesOf(status)).toContain('InSync False WaitingForInterface');
    expect(typesOf(status)).toContain('Ready False Staged');
    expect(status.message).toBe('its set does not have the traffic');
  });

  it.each<[string, Partial<CnfFacts>, string]>([
    ['has confirmed it', { actual: 1 }, 'Distance True Confirmed'],
    ['has another one in force', { actual: 0 }, 'Distance False NotConfirmed'],
    ['is silent', { link: 'Silent', actual: 1 }, 'Distance Unknown NotConnected'],
  ])('has its distance, and says when its agent %s', (_, changes, expected) => {
    const { spec, status } = wantedOf(changes).fields;
    expect(spec).toMatchObject({ distance: 1, weight: 0 });
    expect(typesOf(status)).toContain(expected);
  });

  it('says which agent it has, what changed last, and its addresses by device', () => {
    const networks = new Map([
      ['net1', ['fd00::2', '10.0.0.2']],
      ['net0', []],
    ]);
    const status = statusOf({ agentVersion: '1.2.3', createdAt: NOW - 60_000, networks });
    expect(status).toMatchObject({
      agentVersion: '1.2.3',
      lastEvent: { reason: 'PodReady', time: '2026-01-02T03:04:05Z' },
      networks: [
        { device: 'net0', addresses: [] },
        { device: 'net1', addresses: ['10.0.0.2', 'fd00::2'] },
      ],
    });
    // The next leader has no report yet.
    const unknown = { agentVersion: undefined, networks: new Map(), createdAt: NOW - 60_000 };
    expect(statusOf(unknown, status, NOW + 60_000)).toEqual(status);
  });

  it('has other addresses once a minute at most, and when the minute is over', () => {
    const at = (address: string) => ({ networks: new Map([['net1', [address]]]) });
    const status = statusOf(at('10.0.0.2'));
    const wait = (nowMs: number) =>
      observedInMs(cnfFacts('old-1', at('10.0.0.3')), status, NOW + nowMs);
    expect([wait(1_000), wait(60_000)]).toEqual([59_000, 0]);
    expect(statusOf(at('10.0.0.3'), status, NOW + 1_000)).toEqual(status);
    expect(statusOf(at('10.0.0.3'), status, NOW + 60_000).networks).toEqual([
      { device: 'net1', addresses: ['10.0.0.3'] },
    ]);
    expect(observedInMs(cnfFacts('old-1', at('10.0.0.2')), status, NOW)).toBeUndefined();
  });

  it('has counters in the same minute as addresses, and at once those that it did not have', () => {
    const counting = (packets: number): Counters => ({
      interfaces: [],
      denied: [{ policy: 'edge/web', direction: 'ingress', packets }],
    });
    const networks = new Map([['net1', ['10.0.0.2']]]);
    const first = statusOf({ networks });
    const second = statusOf({ networks, counters: counting(1) }, first, NOW + 1_000);
    expect(second).toMatchObject({ counters: counting(1), observedTime: timestamp(NOW + 1_000) });
    const third = { networks, counters: counting(2) };
    expect(statusOf(third, second, NOW + 60_000)).toEqual(second);
    expect(statusOf(third, second, NOW + 61_000).counters).toEqual(counting(2));
    // The next leader has no report yet.
    expect(statusOf({ networks }, second, NOW + 61_000)).toEqual(second);
  });

  it('forgets what was said of another pod of its name', () => {
    const status = statusOf({});
    const other = statusOf({ uid: 'other', ready: false, provisioned: false }, status, NOW);
    expect(typesOf(other)).toContain('Provisioned False Creating');
  });
});
