import { beforeEach, describe, expect, it } from 'vitest';
import { createManualClock, type ManualClock } from '#shared/runtime/testing/manual-clock.ts';
import type { Attempt } from '../reconcile/loop.ts';
import {
  CHANGED,
  NO_ANSWER,
  SILENCE_MS,
  UNREAD_MS,
  createFreshness,
  type Freshness,
} from './freshness.ts';

let clock: ManualClock;
let freshness: Freshness;
let changes: number;
/** When the call began that OpenWRT has not answered. */
let waitingSince: number | undefined;

/** `tookMs`: how long ago the look or the pass began. */
const add = (attempt: Attempt, tookMs = 0): void =>
  freshness.add(attempt, { wall: clock.now() - tookMs, monotonic: clock.monotonic() - tookMs });
const refused = { outcome: 'unanswered', message: 'refused' } as const;

beforeEach(() => {
  clock = createManualClock();
  changes = 0;
  waitingSince = undefined;
  freshness = createFreshness({
    clock,
    unansweredSince: () => waitingSince,
    onChange: () => (changes += 1),
  });
  clock.advance(1_000);
  freshness.read();
  add({ outcome: 'passed' });
});

describe('the report of what was read', () => {
  it('stays so until OpenWRT has been silent for five seconds', () => {
    add(refused);
    clock.advance(SILENCE_MS - 1);
    expect([freshness.reading(), changes]).toEqual(['holds', 0]);
    clock.advance(1);
    expect([freshness.reading(), changes]).toEqual(['silent', 1]);
  });

  it('stays so for five seconds from the beginning of the call that was not answered, not from its end', () => {
    waitingSince = clock.monotonic() - 4_000;
    add(refused);
    clock.advance(1_000);
    expect(freshness.reading()).toBe('silent');
  });

  it('stays so for five seconds from the beginning of a call that hangs, however long that takes', async () => {
    const stopping = new AbortController();
    const watched = freshness.watch(stopping.signal);
    clock.advance(2_000);
    waitingSince = clock.monotonic();
    clock.advance(3_000);
    await clock.untilSleeping();
    clock.advance(1_999);
    await clock.untilSleeping();
    expect([freshness.reading(), freshness.doubt(), changes]).toEqual(['holds', '', 0]);
    clock.advance(1);
    await clock.untilSleeping();
    expect([freshness.reading(), freshness.doubt(), changes]).toEqual(['silent', NO_ANSWER, 1]);
    clock.advance(SILENCE_MS);
    await clock.untilSleeping();
    expect(changes).toBe(1);
    // It was only slow.
    waitingSince = undefined;
    add({ outcome: 'unchanged' });
    expect([freshness.reading(), freshness.doubt()]).toEqual(['holds', '']);
    stopping.abort();
    await watched;
  });

  it('stays so for five seconds from the end of a pass in which what may take long failed', () => {
    add(refused, 90_000);
    clock.advance(SILENCE_MS - 1);
    expect(freshness.reading()).toBe('holds');
  });

  it('stays so for no longer, however many looks were not answered before', () => {
    for (let look = 0; look < 4; look += 1) {
      add(refused);
      clock.advance(1_000);
    }
    clock.advance(1_000);
    expect(freshness.reading()).toBe('silent');
  });

  it('stays so during a short silence', () => {
    add(refused);
    clock.advance(2_000);
    add({ outcome: 'unchanged' });
    clock.advance(60_000);
    expect([freshness.reading(), changes]).toEqual(['holds', 0]);
  });

  it('stays so for a second after OpenWRT answered with other content, unless that was read', () => {
    add({ outcome: 'differs' });
    clock.advance(UNREAD_MS - 1);
    expect(freshness.reading()).toBe('holds');
    clock.advance(1);
    expect([freshness.reading(), changes]).toEqual(['unread', 1]);
    freshness.read();
    expect(freshness.reading()).toBe('holds');
    add({ outcome: 'differs' });
    freshness.read();
    clock.advance(60_000);
    expect(freshness.reading()).toBe('holds');
  });

  it.each<Attempt>([
    { outcome: 'answered' },
    { outcome: 'differs' },
    { outcome: 'hindered', message: 'busy' },
  ])('stays so after a silence not before it was read: %o', (attempt) => {
    add(refused);
    clock.advance(SILENCE_MS);
    add(attempt);
    expect(freshness.reading()).toBe('unread');
    freshness.read();
    expect(freshness.reading()).toBe('holds');
  });
});

describe('a doubt', () => {
  it('begins with the first look that is not answered or finds a difference, and ends with one that finds none', () => {
    expect(freshness.doubt()).toBe('');
    add(refused);
    expect(freshness.doubt()).toBe('refused');
    add({ outcome: 'differs' });
    freshness.read();
    expect(freshness.doubt()).toBe(CHANGED);
    add({ outcome: 'hindered', message: 'busy' });
    expect(freshness.doubt()).toBe(CHANGED);
    add({ outcome: 'passed' });
    expect(freshness.doubt()).toBe('');
  });

  it('resets the time since when OpenWRT is as the agent left it; a look moves only the time of the last look', () => {
    const begin = freshness.verified();
    clock.advance(1_000);
    add({ outcome: 'unchanged' });
    expect(freshness.verified()).toEqual({ since: begin?.since, last: clock.now() });
    add(refused);
    clock.advance(1_000);
    const seen = freshness.verified();
    add({ outcome: 'answered' });
    expect(freshness.verified()).toEqual(seen);
    add({ outcome: 'passed' }, 300);
    expect(freshness.verified()).toEqual({ since: clock.now() - 300, last: clock.now() - 300 });
  });
});
