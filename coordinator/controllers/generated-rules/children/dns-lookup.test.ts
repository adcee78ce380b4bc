import type { Resolver } from 'node:dns/promises';
import { describe, expect, it } from 'vitest';
import type { Clock } from '#shared/runtime/clock.ts';
import { AddressBook } from './address-book.ts';
import { createLookup, parseResolvConf, type Answer } from './dns-lookup.ts';

const NEVER = new AbortController().signal;
type Zone = Record<string, { v4?: string[]; v6?: string[]; fails4?: string; fails6?: string }>;

const failure = (code: string): Error => Object.assign(new Error(code), { code });
const answer = (addresses: string[] | undefined, fails: string | undefined, known: boolean) => {
  if (fails !== undefined) throw failure(fails);
  if (!addresses) throw failure(known ? 'ENODATA' : 'ENOTFOUND');
  return addresses.map((address, at) => ({ address, ttl: 30 + at }));
};
const lookupIn = (zone: Zone, search: string[] = [], ndots = 1) => {
  // Only the overload with TTLs is asked for.
  const resolver = {
    resolve4: async (name: string) => answer(zone[name]?.v4, zone[name]?.fails4, name in zone),
    resolve6: async (name: string) => answer(zone[name]?.v6, zone[name]?.fails6, name in zone),
  } as unknown as Pick<Resolver, 'resolve4' | 'resolve6'>;
  const lookup = createLookup({ resolver, search, ndots });
  return (name: string) => lookup(name, NEVER);
};

describe('lookup', () => {
  it('gives all addresses, sorted, IPv4 first, for the shortest TTL', async () => {
    const lookup = lookupIn({ 'a.test': { v4: ['10.0.0.2', '10.0.0.1'], v6: ['fd00::1'] } });
    const expected = { addresses: ['10.0.0.1', '10.0.0.2', 'fd00::1'], ttlSeconds: 30 };
    await expect(lookup('a.test')).resolves.toEqual(expected);
  });

  it.each(['10.0.0.1', 'fd00::1'])('takes %s as it is, for ever', async (address) => {
    const expected = { addresses: [address], ttlSeconds: Infinity };
    await expect(lookupIn({})(address)).resolves.toEqual(expected);
  });

  it.each<[string, string, number, string]>([
    ['a short name with the search domains first', 'web', 1, '10.0.0.2'],
    ['a long name as it is first', 'web.shop', 1, '10.0.0.3'],
    ['a long name with the domains first where ndots says so', 'web.shop', 5, '10.0.0.4'],
    ['a name with a final dot as it is', 'web.shop.', 5, '10.0.0.3'],
  ])('tries %s', async (_what, name, ndots, address) => {
    const zone = {
      web: { v4: ['10.0.0.1'] },
      'web.svc.test': { v4: ['10.0.0.2'] },
      'web.shop': { v4: ['10.0.0.3'] },
      'web.shop.svc.test': { v4: ['10.0.0.4'] },
    };
    const { addresses } = await lookupIn(zone, ['svc.test'], ndots)(name);
    expect(addresses).toEqual([address]);
  });

  it('distinguishes a name without address from a server that does not answer', async () => {
    const lookup = lookupIn({
      'a.test': {},
      'b.test': { fails4: 'ETIMEOUT', fails6: 'ESERVFAIL' },
    });
    await expect(lookup('a.test')).rejects.toThrow('a.test has no address in the DNS');
    await expect(lookup('c.test')).rejects.toThrow('c.test has no address in the DNS');
    await expect(lookup('b.test')).rejects.toThrow('b.test cannot be resolved: ETIMEOUT');
  });

  it('keeps the answer for one address family when that for the other is missing', async () => {
    const lookup = lookupIn({ 'a.test': { v4: ['10.0.0.1'], fails6: 'ESERVFAIL' } });
    await expect(lookup('a.test')).resolves.toMatchObject({
      addresses: ['10.0.0.1'],
      unanswered: 6,
    });
  });
});

const bookOf = (answers: (Answer | Error)[]) => {
  let now = 0;
  let asked = 0;
  // Nothing but durations is asked of it.
  const clock = { monotonic: () => now } as Clock;
  const lookup = async (): Promise<Answer> => {
    const next = answers[Math.min(asked, answers.length - 1)];
    asked += 1;
    if (next === undefined || next instanceof Error) throw next ?? new Error('none');
    return next;
  };
  const book = new AddressBook({ lookup, minTtlMs: 5_000, maxTtlMs: 60_000, clock });
  return {
    /** With the answer, if it has to be asked. */
    at: async (ms: number) => {
      now = ms;
      const answered = Promise.withResolvers<void>();
      const asker = { namespace: 'shop', signal: NEVER, onAnswer: answered.resolve };
      const entry = book.get('a.test', asker);
      if (entry && entry.againInMs < Infinity) return entry;
      await answered.promise;
      const answer = book.get('a.test', asker);
      if (!answer) throw new Error('nothing is known');
      return answer;
    },
    asked: () => asked,
  };
};

describe('address book', () => {
  it('asks again when the TTL of the answer has ended, and not before', async () => {
    const book = bookOf([{ addresses: ['10.0.0.1'], ttlSeconds: 30 }]);
    await expect(book.at(0)).resolves.toMatchObject({ addresses: ['10.0.0.1'], againInMs: 30_000 });
    await book.at(29_999);
    expect(book.asked()).toBe(1);
    await book.at(30_000);
    expect(book.asked()).toBe(2);
  });

  it.each([
    [0, 5_000],
    [3_600, 60_000],
  ])('holds an answer of %i s for %i ms', async (ttlSeconds, againInMs) => {
    const book = bookOf([{ addresses: ['10.0.0.1'], ttlSeconds }]);
    await expect(book.at(0)).resolves.toMatchObject({ againInMs });
  });

  it('keeps the last addresses while there is no answer, and recovers by itself', async () => {
    const book = bookOf([
      { addresses: ['10.0.0.1'], ttlSeconds: 10 },
      new Error('no answer'),
      { addresses: ['10.0.0.2'], ttlSeconds: 10 },
    ]);
    await book.at(0);
    const failed = await book.at(10_000);
    expect(failed).toMatchObject({ addresses: ['10.0.0.1'], problem: 'no answer' });
    expect(failed.againInMs).toBeLessThanOrEqual(2_000);
    await expect(book.at(20_000)).resolves.toMatchObject({
      addresses: ['10.0.0.2'],
      problem: undefined,
    });
  });

  it('keeps the addresses of a family for which there is no answer', async () => {
    const book = bookOf([
      { addresses: ['10.0.0.1', 'fd00::1'], ttlSeconds: 10 },
      { addresses: ['10.0.0.2'], ttlSeconds: 10, unanswered: 6 },
    ]);
    await book.at(0);
    await expect(book.at(10_000)).resolves.toMatchObject({ addresses: ['10.0.0.2', 'fd00::1'] });
  });
});

describe('an address book that starts while one family gets no answer', () => {
  const silent = { addresses: ['10.0.0.1'], ttlSeconds: 10, unanswered: 6 as const };
  const full = { addresses: ['10.0.0.1', 'fd00::1'], ttlSeconds: 10 };
  const none = { addresses: ['10.0.0.1'], ttlSeconds: 10 };

  it.each<[string, Answer[], (4 | 6 | undefined)[]]>([
    ['says so until it is answered', [silent, silent, full, silent], [6, 6, undefined, undefined]],
    ['takes that there is none for an answer', [silent, none, silent], [6, undefined, undefined]],
    [
      'knows both when each was answered once',
      [silent, { addresses: ['fd00::1'], ttlSeconds: 10, unanswered: 4 }],
      [6, undefined],
    ],
  ])('%s', async (_what, answers, expected) => {
    const book = bookOf(answers);
    const seen: (4 | 6 | undefined)[] = [];
    for (const at of answers.keys()) seen.push((await book.at(at * 10_000)).unknown);
    expect(seen).toEqual(expected);
  });
});

it('reads of resolv.conf the domains, and how many dots a name needs to be tried first', () => {
  expect(parseResolvConf('')).toEqual({ search: [], ndots: 1 });
  const ofPod =
    'search shop.svc.cluster.local svc.cluster.local. .\nnameserver 10.96.0.10\noptions ndots:5 timeout:1\n';
  expect(parseResolvConf(ofPod)).toEqual({
    search: ['shop.svc.cluster.local', 'svc.cluster.local'],
    ndots: 5,
  });
});
