import { expect, it } from 'vitest';
import { StatusPace } from './status-pace.ts';

const good = { state: 'In Sync', inSync: true } as const;
const bad = { state: 'Trying to apply', inSync: false } as const;
const raised = { before: bad, now: good };

it('writes a status three times at once, then once a second, and at once again after a while', () => {
  const pace = new StatusPace();
  const writeAt = (ms: number): number => {
    const wait = pace.waitMs('a', raised, ms);
    if (wait === 0) pace.written('a', raised, ms);
    return wait;
  };
  expect([writeAt(0), writeAt(10), writeAt(20), writeAt(30)]).toEqual([0, 0, 0, 970]);
  expect([writeAt(1_000), writeAt(1_100), writeAt(2_000)]).toEqual([0, 900, 0]);
  expect([writeAt(9_000), writeAt(9_000), writeAt(9_000)]).toEqual([0, 0, 0]);
  expect(pace.waitMs('another', raised, 9_000)).toBe(0);
  pace.forget('a');
  expect(pace.waitMs('a', raised, 9_000)).toBe(0);
});

it('writes a status that says something else of tunnels alone three times at once, then once a minute', () => {
  const pace = new StatusPace();
  const saying = (message: string) => ({
    ...good,
    conditions: [{ type: 'TunnelUp', status: 'False', reason: 'TunnelDown', message }] as never,
  });
  const flapping = { before: saying('a'), now: saying('b') };
  for (let write = 0; write < 3; write += 1) {
    expect(pace.waitMs('a', flapping, 0)).toBe(0);
    pace.written('a', flapping, 0);
  }
  expect(pace.waitMs('a', flapping, 1_000)).toBe(59_000);
  expect(pace.waitMs('a', { before: flapping.before, now: bad }, 1_000)).toBe(0);
  expect(pace.waitMs('a', { before: undefined, now: flapping.now }, 1_000)).toBe(0);
});

it('writes a rule that is no longer in sync at once', () => {
  const pace = new StatusPace();
  for (let write = 0; write < 9; write += 1) pace.written('a', raised, 0);
  expect(pace.waitMs('a', { before: good, now: bad }, 0)).toBe(0);
  expect(pace.waitMs('a', { before: bad, now: { ...bad, message: 'another' } }, 0)).toBe(7_000);
});
