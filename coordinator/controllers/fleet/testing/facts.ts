/** Pods of a CNFDeployment for unit tests. */
import { UNORDERED_DISTANCE } from '#shared/protocol/report.ts';
import type { CnfFacts } from '../mirror/facts.ts';
import type { RollOutFacts } from '../decide.ts';
import type { FleetPod } from '../pod.ts';

/**
 * One of the set `old` or `new`, as its name says: `old-1`. It has every rule; one of the new set
 * waits behind its gate.
 */
export const fleetPod = (name: string, changes: Partial<FleetPod> = {}): FleetPod => {
  const set = name.split('-')[0] ?? '';
  const isOld = set === 'old';
  return {
    name,
    set,
    ready: isOld,
    readySince: undefined,
    containersReady: true,
    notReady: '',
    notReadySince: undefined,
    gate: isOld ? 'none' : 'closed',
    opening: false,
    active: isOld,
    link: 'Connected',
    missing: new Map(),
    unheard: false,
    actual: UNORDERED_DISTANCE,
    weight: 0,
    createdAt: 0,
    startsAt: 0,
    deletionCost: 0,
    leaving: false,
    ...changes,
  };
};

export const missing = (
  rule: string,
  reason = 'WaitingForInterface',
  refused = true,
): FleetPod['missing'] => new Map([[rule, { refused, reason }]]);

export const facts = (
  pods: readonly FleetPod[],
  changes: Partial<RollOutFacts> = {},
): RollOutFacts => ({
  now: 0,
  replicas: 1,
  wanted: 'new',
  superseded: false,
  soakMs: 30_000,
  deadlineMs: 900_000,
  paused: false,
  promoted: false,
  podByPod: false,
  failure: undefined,
  handOverMs: 20_000,
  distances: new Map(),
  pods,
  ...changes,
});

/** Facts in the year 1970, and on no cordoned node. */
export const cnfFacts = (name: string, changes: Partial<CnfFacts> = {}): CnfFacts => ({
  ...fleetPod(name),
  actual: undefined,
  uid: `uid-${name}`,
  node: 'node-1',
  images: ['openwrt:1'],
  agentVersion: '1.0.0',
  networks: new Map(),
  counters: undefined,
  troubled: false,
  provisioned: true,
  reportedAt: 0,
  silentSince: undefined,
  ...changes,
});
