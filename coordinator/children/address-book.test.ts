import { expect, it } from 'vitest';
import { systemClock } from '#shared/runtime/clock.ts';
import { AddressBook } from './address-book.ts';

it('forgets the name that nobody has asked for the longest when there are more than 4,096', async () => {
  const asked: string[] = [];
  const book = new AddressBook({
    lookup: async (name) => {
      asked.push(name);
      return { addresses: ['192.0.2.1'], ttlSeconds: 600 };
    },
    minTtlMs: 600_000,
    maxTtlMs: 600_000,
    clock: systemClock,
  });
  const { signal } = new AbortController();
  for (let at = 0; at <= 4_096; at += 1) await book.get(`name-${at}`, signal);
  expect(asked).toHaveLength(4_097);
  await book.get('name-1', signal);
  expect(asked).toHaveLength(4_097);
  await book.get('name-0', signal);
  expect(asked.at(-1)).toBe('name-0');
});
