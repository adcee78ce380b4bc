import { describe, expect, it } from 'vitest';
import { namedSection } from '#shared/compile/testing.ts';
import { collectionOf } from './collections.ts';
import type { RestAnswer, RestClient } from './client.ts';
import { carryOut, writesOf } from './writes.ts';

const { signal } = new AbortController();
const KEY = 'the k3y';
const FIELDS = { gateway: '203.0.113.9', pre_shared_key: KEY };
const remote = namedSection('remotes', 'site', FIELDS);
const rule = namedSection('rules', 'web', { src: 'lan' });

const clock = { sleep: async () => {} };
const refusalOf = async (answer: Partial<RestAnswer>): Promise<string | undefined> => {
  const notAsked = () => Promise.reject(new Error('not asked in this test'));
  const client: RestClient = {
    call: async () => ({ status: 201, json: undefined, message: '', ...answer }),
    hasSession: () => true,
    look: notAsked,
    losses: () => 0,
    unansweredSince: () => undefined,
    close: notAsked,
  };
  const write = {
    verb: 'POST',
    collection: collectionOf('ipsec/remotes'),
    section: remote,
  } as const;
  return (await carryOut(client, write, { clock, signal }))?.message;
};

describe('an error about IPsec', () => {
  it.each([
    [`Field[pre_shared_key] checked failed: ${KEY}`, 'HTTP status 400: Field[pre_shared_key]'],
    [`Conflict with ${KEY}`, 'HTTP status 400: Conflict'],
    [`ipsec.lua:12: bad argument '${KEY}'`, 'HTTP status 400'],
  ])('holds no key: %s', async (message, told) => {
    expect(await refusalOf({ status: 400, message })).toBe(told);
  });

  it('contains no key, even when the API stored something else than was sent', async () => {
    const json = { name: 'site', ...FIELDS, gateway: KEY };
    const refusal = await refusalOf({ json });
    expect(refusal).toContain('as it was sent');
    expect(refusal).not.toContain(KEY);
  });
});

it('missing objects are posted and existing ones replaced, referenced objects first', () => {
  const zone = namedSection('zones', 'lan');
  const deltas = [
    { package: 'firewall/rules', remove: ['gone', 'web'], set: [], append: [rule] },
    { package: 'firewall/zones', remove: ['old'], set: [], append: [zone] },
  ];
  const there = (name: string) => (name === 'firewall/rules' ? [rule] : []);
  const told = writesOf(deltas, there).map((write) =>
    write.verb === 'DELETE' ? `DELETE ${write.name}` : `${write.verb} ${write.section.name}`,
  );
  expect(told).toEqual(['DELETE gone', 'POST lan', 'PUT web', 'DELETE old']);
});
