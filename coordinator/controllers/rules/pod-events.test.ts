import { expect, it } from 'vitest';
import type { Drift } from '#shared/protocol/report.ts';
import { cnfPod } from '../../testing/facts.ts';
import { driftRepaired } from './pod-events.ts';

const drift = (section: string, changes: Partial<Drift> = {}): Drift => ({
  package: 'firewall',
  section,
  at: 1,
  ...changes,
});
const messagesOf = (...drifts: Drift[]): string[] =>
  driftRepaired(cnfPod('cnf-1-a'), drifts).map(({ message }) => message);

it('is one Event for the sections of a package, in the same words when it happens again', () => {
  const message =
    'another user or program changed package firewall on OpenWRT (a, b); the agent has put it back';
  expect(messagesOf(drift('b'), drift('a'), drift('b', { at: 2 }))).toEqual([message]);
  expect(messagesOf(drift('b'), drift('p', { package: 'mwan3' }))).toHaveLength(2);
});

it('says of a package that has come back empty what happened, and no section', () => {
  const lost = drift('*', { whole: true });
  const message =
    "OpenWRT has come back without the agent's sections of package firewall, as after a restart; the agent has written them again";
  expect(messagesOf(lost, { ...lost, at: 2 })).toEqual([message]);
  expect(messagesOf(lost, drift('a'))).toEqual([
    message,
    'another user or program changed package firewall on OpenWRT (a); the agent has put it back',
  ]);
});
