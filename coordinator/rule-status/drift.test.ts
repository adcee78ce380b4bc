import { expect, it } from 'vitest';
import type { Drift } from '#shared/protocol/report.ts';
import { NOW, report, rule } from '../testing/facts.ts';
import { driftOf } from './drift.ts';

const drift = (at: number, changes: Partial<Drift> = {}): Drift => ({
  package: 'firewall',
  section: 'sdewan_rule_a',
  uid: 'rule-1',
  at,
  ...changes,
});
const reportsWith = (...all: Drift[][]) => all.map((drifts) => report([], { drifts }));

it('counts what was put back on all pods, and names the last of it', () => {
  const reports = reportsWith(
    [drift(NOW + 5, { section: 'other' })],
    [drift(NOW), drift(NOW - 1_000, { uid: 'rule-2' })],
  );
  const first = driftOf(rule(), reports);
  expect(first.drift).toEqual({
    count: 2,
    lastTime: '2026-01-02T03:04:05.005Z',
    section: 'firewall.other',
  });
  const status = { ...first, conditions: [] };
  expect(driftOf(rule({ status }), reports)).toEqual(first);
  const more = [...reports, ...reportsWith([drift(NOW + 6)])];
  expect(driftOf(rule({ status }), more).drift?.count).toBe(3);
});

it('stays when no agent speaks of it any more, and is absent without any', () => {
  const before = { count: 2, lastTime: '2026-01-02T03:04:05.000Z', section: 'firewall.s' };
  expect(driftOf(rule({ status: { drift: before } }), [])).toEqual({ drift: before });
  expect(driftOf(rule(), reportsWith([drift(NOW, { uid: 'rule-2' })]))).toEqual({});
});
