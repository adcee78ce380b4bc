import { describe, expect, it } from 'vitest';
import {
  cnfDeploymentResource,
  type CnfDeployment,
} from '#shared/resources/other-kinds/cnf-deployment.ts';
import { keptOf, memoryOf } from './remembered.ts';
import { steer, type Memory } from './decide.ts';
import { brokenStatus, fleetStatus } from './status.ts';
import { facts, cnfFacts, missing } from './testing/facts.ts';
import type { CnfFacts } from './mirror/facts.ts';

const NOW = Date.parse('2026-01-02T03:04:05Z');
const labels = { sdewanPurpose: 'cnf-1' };
const cnf = (status?: object): CnfDeployment =>
  cnfDeploymentResource.schema.parse({
    apiVersion: 'fleet.sdewan.akraino.org/v1alpha1',
    kind: 'CNFDeployment',
    metadata: { name: 'cnf-1', uid: 'uid-1', generation: 4, creationTimestamp: '' },
    spec: { selector: { matchLabels: labels }, template: { metadata: { labels }, spec: {} } },
    ...(status && { status }),
  });
const statusOf = (pods: readonly CnfFacts[], memory: Memory, before?: object, now = NOW) => {
  const step = steer(facts(pods, { now }), memory);
  const nothing = {
    deployment: undefined,
    failure: undefined,
    held: undefined,
    renewal: undefined,
    rollSetTime: undefined,
    update: { kept: {}, told: undefined },
    revisions: new Map([['old', 1]]),
  };
  const look = { now, pods, step, asked: 'hash', ...nothing };
  return fleetStatus(cnf(before), look);
};
const old = cnfFacts('old-1');
const late = cnfFacts('new-1', { missing: missing('FirewallRule deny-ssh') });

describe('the status of a CNFDeployment', () => {
  it('counts pods, says the stage, and what the roll-out waits for', () => {
    expect(statusOf([old, late], { current: 'old' })).toEqual({
      observedGeneration: 4,
      targetReplicas: 1,
      replicas: 2,
      readyReplicas: 1,
      progressingReplicas: 1,
      unhealthyReplicas: 0,
      inSyncReplicas: 1,
      selector: 'sdewanPurpose=cnf-1',
      stage: 'Connected',
      stageTime: '2026-01-02T03:04:05.000Z',
      revisions: { current: 1 },
      currentRevision: 'old',
      stagedRevision: 'new',
      active: 'old-1',
      distances: [
        { pod: 'old-1', distance: 0, since: '2026-01-02T03:04:05.000Z', confirmed: false },
        { pod: 'new-1', distance: 3, since: '2026-01-02T03:04:05.000Z', confirmed: false },
      ],
      staged: { since: '2026-01-02T03:04:05.000Z' },
      waitsFor: ['FirewallRule deny-ssh: WaitingForInterface (on new-1)'],
      message: 'FirewallRule deny-ssh: WaitingForInterface (on new-1)',
      conditions: [
        expect.objectContaining({ type: 'Available', status: 'True' }),
        expect.objectContaining({
          type: 'Progressing',
          status: 'True',
          reason: 'Connected',
          message: 'waits for FirewallRule deny-ssh: WaitingForInterface (on new-1)',
        }),
        expect.objectContaining({ type: 'Degraded', status: 'False' }),
        expect.objectContaining({ type: 'Ready', status: 'False', reason: 'NotReady' }),
        expect.objectContaining({ type: 'RBACProvisioned', status: 'True' }),
      ],
    });
  });

  it('says since when it is in its stage, whatever else changes', () => {
    const since = '2026-01-02T03:00:00.000Z';
    const memory = { current: 'old' };
    const same = statusOf([old, late], memory, { stage: 'Connected', stageTime: since });
    expect(same.stageTime).toBe(since);
    const other = statusOf([old, late], memory, { stage: 'Staged', stageTime: since });
    expect(other.stageTime).toBe('2026-01-02T03:04:05.000Z');
  });

  it('names what has failed, pod and rule', () => {
    const staged = { set: 'new', since: NOW - 900_000 };
    const status = statusOf([old, late], { current: 'old', staged });
    const message =
      'revision new has failed: FirewallRule deny-ssh: WaitingForInterface (on new-1)';
    expect(status).toMatchObject({ stage: 'Failed', failedRevision: 'new', message });
    for (const [type, is] of [
      ['Degraded', 'True'],
      ['Stalled', 'True'],
      ['Ready', 'False'],
    ])
      expect(status.conditions).toContainEqual(
        expect.objectContaining({ type, status: is, reason: 'RollOutFailed', message }),
      );
  });

  it('keeps the time of a condition that stays as it is', () => {
    const first = statusOf([old, late], { current: 'old' });
    const then = statusOf([old, late], { current: 'old' }, first, NOW + 5_000);
    expect(then.conditions).toEqual(first.conditions);
  });

  it('passes the schema that the API server has of it, whatever is said', () => {
    const many = new Map(
      Array.from({ length: 50 }, (_, index) => [
        `FirewallRule ${'x'.repeat(60)}-${index}`,
        { refused: true, reason: 'y'.repeat(2_000) },
      ]),
    );
    const status = statusOf(
      [cnfFacts('old-1', { missing: many }), cnfFacts('new-1', { missing: many })],
      {
        current: 'old',
      },
    );
    expect(cnfDeploymentResource.status.safeParse(status).success).toBe(true);
    const broken = brokenStatus(cnf(), {
      reason: 'Forbidden',
      message: 'z'.repeat(9_000),
      now: NOW,
    });
    expect(cnfDeploymentResource.status.safeParse(broken).success).toBe(true);
  });
});

describe('what is remembered', () => {
  const memory: Memory = {
    current: 'a',
    staged: {
      set: 'b',
      since: NOW,
      handedOverAt: NOW + 1_500,
      readyAt: NOW + 2_000,
      troubledAt: NOW + 3_000,
    },
    failed: { set: 'b', why: 'late' },
  };

  it('comes back from the status', () => {
    expect(memoryOf(cnf(keptOf(memory, 'hash')), 'hash')).toEqual(memory);
    expect(memoryOf(cnf(), 'hash')).toEqual({});
  });

  it('is no failure any more with another template', () => {
    expect(memoryOf(cnf(keptOf(memory, 'hash')), 'other').failed).toBeUndefined();
  });
});
