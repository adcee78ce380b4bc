import { expect, it } from 'vitest';
import { NOW } from '../testing/facts.ts';
import { unreadSince } from './unread.ts';

it.each<[string, { since: number; last: number } | undefined, boolean]>([
  ['before the container started', { since: -60_000, last: -1 }, true],
  ['in the same second, and perhaps before it', { since: -60_000, last: 999 }, true],
  [
    'in a later second, as when another container has restarted',
    { since: -60_000, last: 1_000 },
    false,
  ],
  ['anew in the same second, and perhaps before it', { since: 10, last: 10 }, true],
  ['by an agent that does not tell', undefined, false],
])('OpenWRT was looked at %s', (_name, at, unread) => {
  const verified = at && { since: NOW + at.since, last: NOW + at.last };
  const clock = { startedAt: 0, sentAt: 0, ...(verified && { verified }) };
  expect(unreadSince({ clock }, { othersStartedAt: NOW }) !== undefined).toBe(unread);
  expect(unreadSince({ clock }, { othersStartedAt: undefined })).toBeUndefined();
});
