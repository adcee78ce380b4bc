import { beforeEach, describe, expect, it } from 'vitest';
import { createManualClock, type ManualClock } from '#shared/runtime/manual-clock.ts';
import type { Attempt } from '../reconcile/loop.ts';
import { CHANGED, SILENCE_MS, UNREAD_MS, createTrust, type Trust } from './trust.ts';

let clock: ManualClock;
let trust: Trust;
let changes: number;

/** `tookMs`: how long ago the look or the pass began. */
const add = (attempt: Attempt, tookMs = 0): void =>
  trust.add(attempt, { wall: clock.now() - tookMs, monotonic: clock.monotonic() - tookMs });
const refused = { outcome: 'unanswered', message: 'refused', look: true } as const;

beforeEach(() => {
  clock = createManualClock();
  changes = 0;
  trust = createTrust({ clock, onChange: () => (changes += 1) });
  clock.advance(1_000);
  trust.read();
  add({ outcome: 'passed' });
});

describe('what was read is reported', () => {
  it('until OpenWRT has been silent for five seconds', () => {
    add(refused);
    clock.advance(SILENCE_MS - 1);
    expect([trust.reading(), changes]).toEqual(['holds', 0]);
    clock.advance(1);
    expect([trust.reading(), changes]).toEqual(['silent', 1]);
  });

  it('for five seconds from the beginning of the look that was not answered, not from its end', () => {
    add(refused, 4_000);
    clock.advance(1_000);
    expect(trust.reading()).toBe('silent');
  });

  it('for five seconds from the end of a pass that failed, however long it took', () => {
    add({ ...refused, look: false }, 90_000);
    clock.advance(SILENCE_MS - 1);
    expect(trust.reading()).toBe('holds');
  });

  it('however many looks were not answered before, for no longer', () => {
    for (let look = 0; look < 4; look += 1) {
      add(refused);
      clock.advance(1_000);
    }
    clock.advance(1_000);
    expect(trust.reading()).toBe('silent');
  });

  it('during a short silence', () => {
    add(refused);
    clock.advance(2_000);
    add({ outcome: 'unchanged' });
    clock.advance(60_000);
    expect([trust.reading(), changes]).toEqual(['holds', 0]);
  });

  it('for a second after OpenWRT answered with other content, unless that was read', () => {
    add({ outcome: 'differs' });
    clock.advance(UNREAD_MS - 1);
    expect(trust.reading()).toBe('holds');
    clock.advance(1);
    expect([trust.reading(), changes]).toEqual(['unread', 1]);
    trust.read();
    expect(trust.reading()).toBe('holds');
    add({ outcome: 'differs' });
    trust.read();
    clock.advance(60_000);
    expect(trust.reading()).toBe('holds');
  });

  it.each<Attempt>([
    { outcome: 'answered' },
    { outcome: 'differs' },
    { outcome: 'hindered', message: 'busy' },
  ])('after a silence not before it was read: %o', (attempt) => {
    add(refused, SILENCE_MS);
    add(attempt);
    expect(trust.reading()).toBe('unread');
    trust.read();
    expect(trust.reading()).toBe('holds');
  });
});

describe('a doubt', () => {
  it('begins with the first look that is not answered or finds a difference, and ends with one that finds none', () => {
    expect(trust.doubt()).toBe('');
    add(refused);
    expect(trust.doubt()).toBe('refused');
    add({ outcome: 'differs' });
    trust.read();
    expect(trust.doubt()).toBe(CHANGED);
    add({ outcome: 'hindered', message: 'busy' });
    expect(trust.doubt()).toBe(CHANGED);
    add({ outcome: 'passed' });
    expect(trust.doubt()).toBe('');
  });

  it('resets the time since when OpenWRT is as the agent left it; a look moves only the time of the last look', () => {
    const begin = trust.verified();
    clock.advance(1_000);
    add({ outcome: 'unchanged' });
    expect(trust.verified()).toEqual({ since: begin?.since, last: clock.now() });
    add(refused);
    clock.advance(1_000);
    const seen = trust.verified();
    add({ outcome: 'answered' });
    expect(trust.verified()).toEqual(seen);
    add({ outcome: 'passed' }, 300);
    expect(trust.verified()).toEqual({ since: clock.now() - 300, last: clock.now() - 300 });
  });
});
