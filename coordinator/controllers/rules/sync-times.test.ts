import { describe, expect, it } from 'vitest';
import type { RuleStatus } from '#shared/protocol/status.ts';
import { rule } from '../../testing/facts.ts';
import { SyncTimes } from './sync-times.ts';

const UID = rule().uid;
const status = (observedGeneration: number, inSync: boolean): RuleStatus => ({
  observedGeneration,
  inSync,
});

describe('the time from a change to in sync', () => {
  it('begins when the change is seen first, whatever statuses are written until then', () => {
    const times = new SyncTimes();
    times.see(UID, rule({ generation: 1 }), 100);
    expect(times.begun(rule({ generation: 1 }), status(1, false))).toBeUndefined();
    times.see(UID, rule({ generation: 1, status: status(1, false) }), 300);
    expect(times.begun(rule({ generation: 1 }), status(1, true))).toBe(100);
    times.settle(UID);
    expect(times.begun(rule({ generation: 1 }), status(1, true))).toBeUndefined();
  });

  it('begins anew with the next change', () => {
    const times = new SyncTimes();
    times.see(UID, rule({ generation: 1 }), 0);
    times.see(UID, rule({ generation: 2, status: status(1, false) }), 50);
    expect(times.begun(rule({ generation: 1 }), status(1, true))).toBeUndefined();
    expect(times.begun(rule({ generation: 2 }), status(2, true))).toBe(50);
  });

  it.each([
    ['a rule that was out of sync before anybody looked', { status: status(2, false) }],
    ['one that another replica brought in sync', { status: status(2, true) }],
    ['one that is being deleted', { deletedAt: 1 }],
    ['one of no CNF', { purpose: undefined }],
  ])('%s has none', (_name, changes) => {
    const times = new SyncTimes();
    times.see(UID, rule({ generation: 2, ...changes }), 0);
    expect(times.begun(rule({ generation: 2 }), status(2, true))).toBeUndefined();
  });

  it('is forgotten for a rule that went', () => {
    const times = new SyncTimes();
    times.see(UID, rule(), 0);
    times.see(UID, undefined, 1);
    expect(times.begun(rule(), status(2, true))).toBeUndefined();
  });
});
