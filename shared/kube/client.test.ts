import { createServer, type Server } from 'node:http';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { createKubeClient, type KubeClient } from './client.ts';
import type { KubeConfig } from './config.ts';
import {
  isConflict,
  isForbidden,
  isGone,
  isInvalid,
  isNotFound,
  isUnauthorized,
  KubeError,
} from './errors.ts';
import { replaceStatus, addFinalizer, removeFinalizers } from './fenced.ts';
import { objectSchema } from './objects.ts';
import { collectionPath, objectPath } from './path.ts';
import { pod, pods } from './testing/pod.ts';

type Seen = { method: string; url: string; headers: Record<string, unknown>; body: unknown };
type Answer = { status?: number; body?: unknown; headers?: Record<string, string>; hang?: boolean };

const rules = {
  group: 'batch.sdewan.akraino.org',
  version: 'v1alpha1',
  plural: 'firewallrules',
  kind: 'FirewallRule',
  schema: objectSchema,
};

let seen: Seen[];
let answers: Answer[];
let server: Server;
let client: KubeClient;
let expired: number;
/** Methods of requests whose connection the client cut. */
let cut: string[];

beforeEach(async () => {
  seen = [];
  answers = [];
  expired = 0;
  // What a server before this one closes comes late on a busy machine.
  const here: string[] = [];
  cut = here;
  server = createServer((request, response) => {
    let text = '';
    request.on('data', (chunk) => (text += String(chunk)));
    request.on('end', () => {
      const { method = '', url = '', headers } = request;
      seen.push({ method, url, headers, body: text === '' ? undefined : JSON.parse(text) });
      const { status = 200, body = pod, headers: more = {}, hang } = answers.shift() ?? {};
      if (hang) {
        response.on('close', () => here.push(method));
        return;
      }
      response.writeHead(status, more);
      response.end(typeof body === 'string' ? body : JSON.stringify(body));
    });
  });
  await new Promise<void>((resolve) => {
    server.listen(0, '127.0.0.1', resolve);
  });
  const address = server.address();
  if (address === null || typeof address === 'string') throw new Error('no port');
  const config: KubeConfig = {
    server: `http://127.0.0.1:${address.port}/proxy/c1`,
    namespace: undefined,
    tls: async () => ({}),
    headers: async () => ({ authorization: `Bearer token-${expired}` }),
    expire: () => (expired += 1),
  };
  client = createKubeClient({ config, timeoutMs: 60_000 });
});

afterEach(async () => {
  await client.close();
  server.closeAllConnections();
  await new Promise((resolve) => {
    server.close(resolve);
  });
});

const failureOf = async (call: Promise<unknown>): Promise<KubeError> => {
  try {
    await call;
  } catch (error) {
    if (error instanceof KubeError) return error;
    throw error;
  }
  throw new Error('it did not fail');
};

describe('paths', () => {
  it.each([
    ['a core collection', collectionPath(pods, 'ns'), '/api/v1/namespaces/ns/pods'],
    [
      'a group in all namespaces',
      collectionPath(rules),
      '/apis/batch.sdewan.akraino.org/v1alpha1/firewallrules',
    ],
    [
      'a subresource',
      objectPath(pods, { namespace: 'ns', name: 'p' }, 'status'),
      '/api/v1/namespaces/ns/pods/p/status',
    ],
    [
      'a cluster-scoped object',
      objectPath({ ...pods, plural: 'nodes' }, { name: 'n' }),
      '/api/v1/nodes/n',
    ],
    [
      'a name that needs quoting',
      objectPath(pods, { namespace: 'ns', name: 'a/b?c' }),
      '/api/v1/namespaces/ns/pods/a%2Fb%3Fc',
    ],
  ])('lead to %s', (_what, path, expected) => {
    expect(path).toBe(expected);
  });

  it.each(['', '.', '..'])('refuse a name that would lead elsewhere: "%s"', (name) => {
    expect(() => objectPath(pods, { namespace: 'ns', name })).toThrow('no object can be named');
    expect(() => collectionPath(pods, name)).toThrow('no object can be named');
  });
});

describe('requests', () => {
  it('go below the path of the server, with credentials', async () => {
    await client.get(pods, { namespace: 'ns', name: 'p' });
    expect(seen[0]).toMatchObject({
      method: 'GET',
      url: '/proxy/c1/api/v1/namespaces/ns/pods/p',
      headers: { authorization: 'Bearer token-0' },
    });
  });

  it('follow the pages of a list, and add apiVersion and kind to its items', async () => {
    const item = { metadata: pod.metadata };
    answers.push(
      { body: { metadata: { resourceVersion: '7', continue: 'c/1' }, items: [item] } },
      { body: { metadata: { resourceVersion: '7' }, items: null } },
    );
    const list = await client.list(rules, { namespace: 'ns', labelSelector: 'a=b', pageSize: 1 });
    expect(seen.map(({ url }) => url.split('?')[1])).toEqual([
      'labelSelector=a%3Db&limit=1',
      'labelSelector=a%3Db&limit=1&continue=c%2F1',
    ]);
    expect(list).toEqual({
      resourceVersion: '7',
      items: [{ ...item, apiVersion: 'batch.sdewan.akraino.org/v1alpha1', kind: 'FirewallRule' }],
    });
  });

  const page = (of: number, size: number, next?: string) => ({
    body: {
      metadata: { resourceVersion: '7', ...(next && { continue: next }) },
      items: Array.from({ length: of }, () => ({ ...pod, spec: 'x'.repeat(size) })),
    },
  });

  it('ask for a page with fewer objects where it would be far too long', async () => {
    answers.push(page(8, 10, 'a'), page(16, 1_400_000, 'of none'), page(2, 1_400_000, 'b'));
    answers.push(page(1, 6_000_000));
    const { items } = await client.list(rules, { pageSize: 200, timeoutMs: 20_000 });
    expect(items).toHaveLength(11);
    expect(seen.map(({ url }) => url.split('?')[1])).toEqual([
      'limit=8',
      'limit=16&continue=a',
      'limit=2&continue=a',
      'limit=1&continue=b',
    ]);
  });

  it('say of a list that there is more, once it has as many pages as are wanted', async () => {
    answers.push(page(8, 10, 'a'), page(16, 1_400_000, 'of none'));
    const list = await client.list(rules, { pageSize: 200, maxPages: 2, timeoutMs: 20_000 });
    expect(list).toMatchObject({ isPartial: true, resourceVersion: '' });
    expect([list.items.length, seen.length]).toEqual([8, 2]);
    answers.push(page(8, 10, 'a'), page(1, 10));
    const whole = await client.list(rules, { pageSize: 200, maxPages: 2 });
    expect(whole).not.toHaveProperty('isPartial');
  });

  it('adapt the number of items per page to their size', async () => {
    answers.push(page(8, 10, 'a'), page(16, 250_000, 'b'), page(4, 1_000_000, 'c'));
    answers.push(page(1, 10, 'd'), page(2, 10, 'e'), page(3, 10), page(5, 10));
    await client.list(rules, { pageSize: 6_000, timeoutMs: 20_000 });
    await client.list(rules, { pageSize: 5 });
    expect(seen.map(({ url }) => /limit=(\d+)/.exec(url)?.[1])).toEqual([
      '8',
      '16',
      '4',
      '1',
      '2',
      '4',
      '5',
    ]);
  });

  it('keep only the metadata fields that are read, and all else of an object', async () => {
    const managedFields = [{ manager: 'kubectl' }];
    answers.push({
      body: { ...pod, metadata: { ...pod.metadata, managedFields }, spec: { a: 1 } },
    });
    expect(await client.get(pods, { name: 'p' })).toEqual({ ...pod, spec: { a: 1 } });
  });

  it('give a cluster-scoped object an empty namespace, and find it by that', async () => {
    const { namespace: _none, ...metadata } = pod.metadata;
    answers.push({ body: { ...pod, metadata } });
    const object = await client.get(pods, { name: 'p' });
    expect(object.metadata.namespace).toBe('');
    await client.get(pods, object.metadata);
    expect(seen[1]?.url).toBe('/proxy/c1/api/v1/pods/p');
  });

  it('carry patches by their media type', async () => {
    const key = { namespace: 'ns', name: 'r' };
    await client.patch(rules, key, { patch: { type: 'merge', body: { a: 1 } }, dryRun: true });
    await client.patch(rules, key, { patch: { type: 'json', body: [] }, subresource: 'status' });
    expect(
      seen.map(({ url, headers }) => [url.split('/r').at(-1), headers['content-type']]),
    ).toEqual([
      ['?dryRun=All', 'application/merge-patch+json'],
      ['/status', 'application/json-patch+json'],
    ]);
  });
});

describe('failures', () => {
  it.each([
    [403, isForbidden],
    [404, isNotFound],
    [409, isConflict],
    [410, isGone],
    [422, isInvalid],
  ])('%i is known by its status', async (status, is) => {
    answers.push({ status, body: { reason: 'Because', message: 'so it is' } });
    const error = await failureOf(client.get(rules, { namespace: 'ns', name: 'r' }));
    expect(is(error)).toBe(true);
    expect(error.reason).toBe('Because');
    expect(error.message).toBe('get firewallrules.batch.sdewan.akraino.org ns/r: so it is');
  });

  it('have the time that the server asks us to wait', async () => {
    answers.push(
      { status: 429, headers: { 'retry-after': '3' } },
      { status: 503, body: { reason: 'ServerTimeout', details: { retryAfterSeconds: 2 } } },
    );
    expect((await failureOf(client.get(pods, { name: 'p' }))).retryAfterMs).toBe(3_000);
    expect((await failureOf(client.get(pods, { name: 'p' }))).retryAfterMs).toBe(2_000);
  });

  it('show when no answer came, or no JSON', async () => {
    answers.push({ status: 502, body: '<html>bad gateway' }, { body: '<html>' });
    expect((await failureOf(client.get(pods, { name: 'p' }))).message).toContain(
      'HTTP 502 <html>bad',
    );
    expect(await failureOf(client.get(pods, { name: 'p' }))).toMatchObject({
      status: 0,
      reason: 'Malformed',
    });
  });

  it.each([
    ['an object', { metadata: { ...pod.metadata, uid: 7 } }, 'metadata.uid', 'get'],
    ['an item', { metadata: { resourceVersion: '1' }, items: [{}] }, 'items.0.metadata', 'list'],
    ['a list', { metadata: {}, items: [] }, 'metadata.resourceVersion', 'list'],
  ] as const)(
    'say what is wrong with %s that does not match its schema',
    async (_what, body, path, verb) => {
      answers.push({ body: { ...pod, ...body } });
      const call = verb === 'get' ? client.get(pods, { name: 'p' }) : client.list(pods);
      const error = await failureOf(call);
      expect(error).toMatchObject({ status: 0, reason: 'Malformed' });
      expect(error.message).toContain(`unexpected answer: ${path}: `);
    },
  );

  it('handle an answer that is no Status', async () => {
    answers.push({ status: 500, body: { message: 7, details: 'none' } });
    const error = await failureOf(client.get(pods, { name: 'p' }));
    expect(error).toMatchObject({ status: 500, reason: 'Unknown' });
  });

  it('end a call that gets no answer', async () => {
    answers.push({ hang: true });
    const error = await failureOf(client.get(pods, { name: 'p' }, { timeoutMs: 50 }));
    expect(error).toMatchObject({ status: 0, reason: 'Timeout' });
    expect(error.message).toBe('get pods p: no answer within 50 ms');
  });

  it('reject with the reason of a caller that aborts', async () => {
    answers.push({ hang: true });
    const reason = new Error('enough');
    const controller = new AbortController();
    const call = client.get(pods, { name: 'p' }, { signal: controller.signal });
    setTimeout(() => controller.abort(reason), 20);
    await expect(call).rejects.toBe(reason);
  });

  it('cut the connection of a request that is given up, with a body as well', async () => {
    answers = [{ hang: true }, { hang: true }];
    const body = { metadata: { name: 'p' } };
    const error = await failureOf(client.replace(pods, body, { timeoutMs: 50 }));
    expect(error).toMatchObject({ status: 0, reason: 'Timeout' });
    await failureOf(client.get(pods, { name: 'p' }, { timeoutMs: 50 }));
    await expect.poll(() => cut).toEqual(['PUT', 'GET']);
  });

  it('read credentials again once after a 401', async () => {
    answers.push({ status: 401 }, {}, { status: 401 }, { status: 401 });
    await client.get(pods, { name: 'p' });
    expect(seen.map(({ headers }) => headers['authorization'])).toEqual([
      'Bearer token-0',
      'Bearer token-1',
    ]);
    expect(isUnauthorized(await failureOf(client.get(pods, { name: 'p' })))).toBe(true);
    expect(seen).toHaveLength(4);
  });
});

describe('fenced writes', () => {
  const metadata = {
    name: 'r',
    namespace: 'ns',
    uid: 'u1',
    resourceVersion: '5',
    creationTimestamp: '',
    labels: { a: 'b' },
  };
  const object = { apiVersion: 'x/v1', kind: 'X', metadata, spec: { a: 1 } };
  const fence = (more: object = {}) => ({
    client,
    resource: rules,
    object: { ...object, metadata: { ...metadata, ...more } },
  });
  const fenceOnly = { uid: 'u1', resourceVersion: '5' };

  it('replace a status whole and send nothing else of the object', async () => {
    await replaceStatus(fence(), { inSync: true });
    expect(seen).toMatchObject([{ method: 'PUT', url: expect.stringMatching(/\/r\/status$/) }]);
    expect(seen[0]?.body).toEqual({
      apiVersion: 'x/v1',
      kind: 'X',
      metadata: { name: 'r', namespace: 'ns', ...fenceOnly },
      status: { inSync: true },
    });
  });

  it('remove the finalizers that are named and keep the others', async () => {
    await removeFinalizers(fence({ finalizers: ['a/1', 'b/2', 'a/3'] }), ['a/1', 'a/3', 'a/4']);
    expect(seen[0]?.body).toEqual({ metadata: { ...fenceOnly, finalizers: ['b/2'] } });
  });

  it('add a finalizer behind the others', async () => {
    await addFinalizer(fence({ finalizers: ['b/2'] }), 'a/1');
    expect(seen[0]?.body).toEqual({ metadata: { ...fenceOnly, finalizers: ['b/2', 'a/1'] } });
  });

  it('write nothing when nothing would change, or when the object is being deleted', async () => {
    await removeFinalizers(fence({ finalizers: ['b/2'] }), ['a/1']);
    await removeFinalizers(fence(), ['a/1']);
    await addFinalizer(fence({ finalizers: ['a/1'] }), 'a/1');
    await addFinalizer(fence({ deletionTimestamp: '2026-01-01T00:00:00Z' }), 'a/1');
    expect(seen).toEqual([]);
  });
});
