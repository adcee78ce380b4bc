import { expect, it } from 'vitest';
import type { RuleStatus } from '#shared/protocol/status.ts';
import { context, report, reportsOf, rule, cnfPod, word } from '../../testing/facts.ts';
import type { RuleWord } from '../../rule-status/pod-report.ts';
import { rollup } from '../../rule-status/rollup.ts';
import { Waiting } from './waiting-events.ts';

const pod = cnfPod('a');
const statusWith = (changes: Partial<RuleWord>): RuleStatus =>
  rollup(rule(), [pod], reportsOf([[pod, report([word(changes)])]]), context());
const waits = (reason: string, message = 'src: waits for FirewallZone lan9'): RuleStatus =>
  statusWith({ state: 'Pending', reason, message });

it('tells once, after half a minute, what a rule waits for', () => {
  const waiting = new Waiting();
  const status = waits('WaitingForReference');
  expect(waiting.look('r', status, 1_000)).toEqual({ inMs: 30_000 });
  expect(waiting.look('r', status, 21_000)).toEqual({ inMs: 10_000 });
  expect([waiting.due(30_999), waiting.due(31_000)]).toEqual([[], ['r']]);
  expect(waiting.look('r', status, 31_000)).toEqual({
    event: {
      type: 'Warning',
      reason: 'WaitingForReference',
      message: 'src: waits for FirewallZone lan9 (not in force on 1 of 1 pods: a)',
      once: true,
    },
    inMs: undefined,
  });
  expect(waiting.due(99_000)).toEqual([]);
  expect(waiting.look('r', status, 99_000)).toEqual({ inMs: undefined });
});

it.each([
  'WaitingForInterface',
  'WaitingForDevice',
  'WaitingForSecret',
  'WaitingForPackage',
  'NotResolved',
])('%s is waited for', (reason) => {
  const waiting = new Waiting();
  waiting.look('r', waits(reason), 0);
  expect(waiting.look('r', waits(reason), 30_000).event?.reason).toBe(reason);
});

it('tells of a CNF that is not there', () => {
  const waiting = new Waiting();
  const status = rollup(rule(), [], new Map(), context());
  waiting.look('r', status, 0);
  expect(waiting.look('r', status, 30_000).event?.reason).toBe('WaitingForCnf');
});

it('begins anew with another reason, and after the rule was in force', () => {
  const waiting = new Waiting();
  waiting.look('r', waits('WaitingForReference'), 0);
  expect(waiting.look('r', waits('WaitingForSecret'), 29_000)).toEqual({ inMs: 30_000 });
  expect(waiting.look('r', statusWith({}), 30_000)).toEqual({ inMs: undefined });
  expect(waiting.look('r', waits('WaitingForSecret'), 60_000)).toEqual({ inMs: 30_000 });
});

it.each(['Applying', 'PodNotReady', 'InvalidSpec'])('%s is not waited for', (reason) => {
  expect(new Waiting().look('r', waits(reason), 0)).toEqual({ inMs: undefined });
});
