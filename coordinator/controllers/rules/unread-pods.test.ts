import { expect, it } from 'vitest';
import { clockOfRun, NOW, report, cnfPod } from '../../testing/facts.ts';
import { UnreadPods } from './unread-pods.ts';

const verified = (last: number) =>
  report([], { clock: { ...clockOfRun(0), verified: { since: NOW - 60_000, last } } });
const restarted = cnfPod('a', { othersStartedAt: NOW });

it('reports once that the agent has looked at OpenWRT since a container started', () => {
  let said = verified(NOW - 500);
  const pods = new UnreadPods({ of: () => said });
  expect(pods.note(cnfPod('a'))).toBe(false);
  expect([pods.note(restarted), pods.note(restarted)]).toEqual([false, false]);
  said = verified(NOW + 2_000);
  expect([pods.note(restarted), pods.note(restarted)]).toEqual([true, false]);
});

it('reports nothing for a pod that is gone', () => {
  let said = verified(NOW - 500);
  const pods = new UnreadPods({ of: () => said });
  pods.note(restarted);
  pods.forget(restarted.uid);
  said = verified(NOW + 2_000);
  expect(pods.note(restarted)).toBe(false);
});

it('reports once that a report is from the run of the agent that the pod shows', () => {
  const sent = (sentAt: number) => report([], { clock: { startedAt: NOW - 300, sentAt } });
  let said = sent(NOW + 500);
  const pods = new UnreadPods({ of: () => said });
  const started = cnfPod('a', { agent: { state: 'started', startedAt: NOW } });
  expect(pods.note(started)).toBe(false);
  said = sent(NOW + 1_000);
  expect([pods.note(started), pods.note(started)]).toEqual([true, false]);
});
