import { describe, expect, it } from 'vitest';
import { namedSection } from '#shared/compile/testing.ts';
import { collectionOf } from './collections.ts';
import type { RestAnswer, RestCall, RestClient } from './client.ts';
import { carryOut, writesOf, type Refusal, type Write } from './writes.ts';

const { signal } = new AbortController();
const KEY = 'the k3y';
const FIELDS = { gateway: '203.0.113.9', pre_shared_key: KEY };
const remote = namedSection('remotes', 'site', FIELDS);
const rule = namedSection('rules', 'web', { src: 'lan' });

const clock = { sleep: async () => {} };
const carriedOut = async (
  write: Write,
  ...answers: Partial<RestAnswer>[]
): Promise<{ refusal: Refusal | undefined; calls: RestCall[] }> => {
  const calls: RestCall[] = [];
  const notAsked = () => Promise.reject(new Error('not asked in this test'));
  const client: RestClient = {
    call: async (call) => {
      calls.push(call);
      const answer = answers.length > 1 ? answers.shift() : answers[0];
      return { status: 201, json: undefined, message: '', ...answer };
    },
    hasSession: () => true,
    look: notAsked,
    losses: () => 0,
    unansweredSince: () => undefined,
    close: notAsked,
  };
  return { refusal: await carryOut(client, write, { clock, signal }), calls };
};
const post = (name: string, section = rule): Write => ({
  verb: 'POST',
  collection: collectionOf(name),
  section,
});

describe('an object is written', () => {
  it('when the API answers with what it was sent', async () => {
    const json = { name: 'web', src: 'lan' };
    expect((await carriedOut(post('firewall/rules'), { json })).refusal).toBeUndefined();
  });

  it.each<[string, Partial<RestAnswer>, string]>([
    ['it answers with another', { json: { name: 'web', src: 'wan' } }, 'as it was sent'],
    ['it answers with none', { json: null }, 'did not'],
    ['it answers something else', { status: 200, json: { name: 'web', src: 'lan' } }, '200'],
    ['it refuses', { status: 400, message: 'Field[src] checked failed' }, 'Field[src] checked'],
  ])('not when %s', async (_what, answer, why) => {
    const { refusal } = await carriedOut(post('firewall/rules'), answer);
    expect(refusal?.message).toContain(why);
    expect(refusal?.stuck).toBe(false);
  });
});

describe('an object is written again after a server error', () => {
  const stored = { json: { name: 'web', src: 'lan' } };
  it.each<[string, Partial<RestAnswer>, Partial<RestAnswer>, string[]]>([
    ['anew, where nothing was stored', { status: 404 }, stored, ['POST', 'GET', 'POST']],
    [
      'in place, where it was stored after all',
      { status: 200 },
      { ...stored, status: 200 },
      ['POST', 'GET', 'PUT'],
    ],
  ])('%s', async (_what, there, answer, methods) => {
    const { refusal, calls } = await carriedOut(
      post('firewall/rules'),
      { status: 500 },
      there,
      answer,
    );
    expect(refusal).toBeUndefined();
    expect(calls.map(({ method }) => method)).toEqual(methods);
  });

  it('and refused only when every try ends in one', async () => {
    const failures = [500, 404, 500, 404, 500, 404, 500].map((status) => ({
      status,
      message: 'x',
    }));
    const { refusal, calls } = await carriedOut(post('firewall/rules'), ...failures);
    expect(refusal?.message).toBe('HTTP status 500: x');
    expect(calls.filter(({ method }) => method === 'POST')).toHaveLength(4);
  });
});

describe('an object is removed', () => {
  const removal: Write = {
    verb: 'DELETE',
    collection: collectionOf('firewall/rules'),
    name: 'web',
  };

  it.each([200, 404])('when the API answers %i', async (status) => {
    const { refusal, calls } = await carriedOut(removal, { status });
    expect(refusal).toBeUndefined();
    expect(calls).toEqual([{ method: 'DELETE', path: 'firewall/v1/rules/web' }]);
  });

  it('when the API answers a server error once', async () => {
    const { refusal, calls } = await carriedOut(removal, { status: 500 }, { status: 200 });
    expect(refusal).toBeUndefined();
    expect(calls.map(({ method }) => method)).toEqual(['DELETE', 'DELETE']);
  });

  it.each([400, 403, 500])('not when it answers %i', async (status) => {
    const { refusal } = await carriedOut(removal, { status, message: 'in use' });
    expect(refusal).toEqual({ message: `HTTP status ${status}: in use`, stuck: true });
  });
});

describe('an error about IPsec', () => {
  it.each([
    [`Field[pre_shared_key] checked failed: ${KEY}`, 'HTTP status 400: Field[pre_shared_key]'],
    [`Conflict with ${KEY}`, 'HTTP status 400: Conflict'],
    [`ipsec.lua:12: bad argument '${KEY}'`, 'HTTP status 400'],
  ])('holds no key: %s', async (message, told) => {
    const { refusal } = await carriedOut(post('ipsec/remotes', remote), { status: 400, message });
    expect(refusal?.message).toBe(told);
  });

  it('contains no key, even when the API stored something else than was sent', async () => {
    const json = { name: 'site', ...FIELDS, gateway: KEY };
    const { refusal } = await carriedOut(post('ipsec/remotes', remote), { json });
    expect(refusal?.message).not.toContain(KEY);
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
