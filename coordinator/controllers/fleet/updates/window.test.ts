import { describe, expect, it } from 'vitest';
import { windowAt, windowProblem } from './window.ts';

const BERLIN = { schedule: '30 2 * * *', duration: '1h', timeZone: 'Europe/Berlin' };
const at = (moment: string): number => Date.parse(moment);
const seen = (updates: typeof BERLIN, moment: string): string => {
  const { isOpen, until } = windowAt(updates, at(moment));
  return `${isOpen ? 'open' : 'closed'} until ${new Date(until).toISOString()}`;
};

describe('a window', () => {
  it.each<[string, string]>([
    ['2026-11-29T01:29:59.999Z', 'closed until 2026-11-29T01:30:00.000Z'],
    ['2026-11-29T01:30:00.000Z', 'open until 2026-11-29T02:30:00.000Z'],
    ['2026-11-29T02:29:59.999Z', 'open until 2026-11-29T02:30:00.000Z'],
    ['2026-11-29T02:30:00.000Z', 'closed until 2026-11-30T01:30:00.000Z'],
  ])('is, at %s, %s', (moment, expected) => {
    expect(seen(BERLIN, moment)).toBe(expected);
  });

  it('opens at the first minute after those that summer time leaves out, and has its whole length', () => {
    expect(seen(BERLIN, '2027-03-28T00:59:00Z')).toBe('closed until 2027-03-28T01:00:00.000Z');
    expect(seen(BERLIN, '2027-03-28T01:59:00Z')).toBe('open until 2027-03-28T02:00:00.000Z');
    expect(seen(BERLIN, '2027-03-28T02:00:00Z')).toBe('closed until 2027-03-29T00:30:00.000Z');
  });

  it('opens once in the night in which half past two comes twice', () => {
    expect(seen(BERLIN, '2026-10-25T00:29:00Z')).toBe('closed until 2026-10-25T00:30:00.000Z');
    expect(seen(BERLIN, '2026-10-25T01:29:00Z')).toBe('open until 2026-10-25T01:30:00.000Z');
    expect(seen(BERLIN, '2026-10-25T01:30:00Z')).toBe('closed until 2026-10-26T01:30:00.000Z');
  });

  it('is left out, and opens twice, where its schedule has several minutes', () => {
    const two = { ...BERLIN, schedule: '0,30 2 * * *', duration: '10m' };
    expect(seen(two, '2027-03-28T00:59:00Z')).toBe('closed until 2027-03-29T00:00:00.000Z');
    expect(seen(two, '2026-10-25T00:45:00Z')).toBe('closed until 2026-10-25T01:00:00.000Z');
  });

  it('stays open when it begins anew before its end', () => {
    const always = { schedule: '* * * * *', duration: '5m', timeZone: 'UTC' };
    expect(windowAt(always, at('2026-11-29T12:00:59.999Z')).isOpen).toBe(true);
  });

  it('spans midnight', () => {
    const night = { schedule: '0 23 * * SAT', duration: '3h', timeZone: 'UTC' };
    expect(seen(night, '2026-11-29T00:30:00Z')).toBe('open until 2026-11-29T02:00:00.000Z');
  });
});

describe('a window that cannot be', () => {
  it.each<[string, Partial<typeof BERLIN>, string]>([
    ['a minute that there is not', { schedule: '60 2 * * *' }, 'minute: 60'],
    ['six fields', { schedule: '0 30 2 * * *' }, 'exactly 5 parts'],
    ['a day that never comes', { schedule: '0 0 30 2 *' }, 'schedule 0 0 30 2 * never comes'],
    ['a zone that there is not', { timeZone: 'Europe/Nowhere' }, 'Europe/Nowhere'],
    ['no time at all', { duration: '0s' }, 'duration must be from 1m to 24h, and is 0s'],
    ['more than a day', { duration: '25h' }, 'duration must be from 1m to 24h, and is 25h'],
  ])('is %s', (_, changes, message) => {
    expect(windowProblem({ ...BERLIN, ...changes }, at('2026-11-29T12:00:00Z'))).toContain(message);
  });
});
