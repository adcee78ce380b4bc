import { expect, it } from 'vitest';
import type { RecentEvent } from './latest-events.ts';
import { LatestEvents, MAX_EVENTS } from './latest-events.ts';

const eventOf = (namespace: string, at: number): RecentEvent => ({
  namespace,
  involved: { kind: 'FirewallRule', name: 'r', uid: 'u' },
  type: 'Warning',
  reason: 'Failed',
  message: `${namespace} ${at}`,
  count: 1,
  last: new Date(at * 1_000).toISOString(),
});

it('are shown latest first, the newest word of each', () => {
  const events = new LatestEvents();
  events.set('a', eventOf('edge', 1));
  events.set('b', eventOf('edge', 2));
  events.set('a', eventOf('edge', 3));
  expect(events.list().map(({ message }) => message)).toEqual(['edge 3', 'edge 2']);
});

it('keep those of other namespaces when one floods, and never fill memory', () => {
  const events = new LatestEvents();
  for (let at = 0; at < 20; at += 1) events.set(`quiet-${at}`, eventOf('quiet', at));
  let most = 0;
  for (let at = 0; at < 20 * MAX_EVENTS; at += 1) {
    events.set(`flood-${at}`, eventOf('flood', 1_000_000 + at));
    most = Math.max(most, events.size);
  }
  const shown = events.list();
  expect(most).toBeLessThanOrEqual(2 * MAX_EVENTS);
  expect(shown).toHaveLength(MAX_EVENTS);
  expect(shown.filter(({ namespace }) => namespace === 'quiet')).toHaveLength(20);
  expect(shown[0]?.message).toBe(`flood ${1_000_000 + 20 * MAX_EVENTS - 1}`);
});

it('share the room among many namespaces that flood', () => {
  const events = new LatestEvents();
  for (let at = 0; at < 5_000; at += 1)
    for (const name of ['one', 'two', 'three', 'four'])
      events.set(`${name}-${at}`, eventOf(name, at));
  const shown = Map.groupBy(events.list(), ({ namespace }) => namespace);
  expect([...shown.values()].map((own) => own.length)).toEqual([250, 250, 250, 250]);
});
