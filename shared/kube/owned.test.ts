/** Around one object as an API server keeps it. The real one: test/integration/kube-writes. */
import * as fc from 'fast-check';
import { beforeEach, describe, expect, it } from 'vitest';
import type { KubeClient, Patch } from './client.ts';
import { KubeError } from './errors.ts';
import { objectSchema, type KubeObject, type OwnerReference } from './objects.ts';
import { find, keep, type Desired } from './owned.ts';

type Json = Record<string, unknown>;
type Thing = KubeObject & Json;

const things = { group: 'g', version: 'v1', plural: 'things', kind: 'Thing', schema: objectSchema };
const key = { namespace: 'edge', name: 't' };

let stored: Thing | undefined;
let writes: string[];

const refusal = (status: number): KubeError => new KubeError('x', 'x', { status, reason: 'x' });
const isRecord = (value: unknown): value is Json =>
  typeof value === 'object' && value !== null && !Array.isArray(value);

/** RFC 7396. */
const merged = (target: unknown, patch: unknown): unknown => {
  if (!isRecord(patch)) return patch;
  const result: Json = isRecord(target) ? { ...target } : {};
  for (const [name, value] of Object.entries(patch)) {
    if (value === null) delete result[name];
    else result[name] = merged(result[name], value);
  }
  return result;
};

const store = (object: unknown): Thing => {
  const version = String(Number(stored?.metadata.resourceVersion ?? 0) + 1);
  // A body is JSON: what is undefined in it is not sent.
  const { metadata, ...rest } = JSON.parse(JSON.stringify(object)) as Thing;
  stored = {
    ...rest,
    metadata: Object.assign({ uid: 'u1' }, metadata, { resourceVersion: version }),
  };
  return stored;
};

const client = {
  get: async () => {
    if (!stored) throw refusal(404);
    return stored;
  },
  create: async (_resource: unknown, body: object) => {
    if (stored) throw refusal(409);
    writes.push('create');
    return store(body);
  },
  patch: async (_resource: unknown, _key: unknown, { patch }: { patch: Patch }) => {
    if (!stored) throw refusal(404);
    const { metadata } = patch.body as Thing;
    const { uid, resourceVersion } = stored.metadata;
    if (metadata.uid !== uid || metadata.resourceVersion !== resourceVersion) throw refusal(409);
    writes.push(patch.type);
    return store(merged(stored, patch.body));
  },
  delete: async (_resource: unknown, _key: unknown, { preconditions }: Json) => {
    if (!stored) throw refusal(404);
    const { uid, resourceVersion } = stored.metadata;
    const { uid: asked, resourceVersion: seen } = preconditions as Json;
    if (asked !== uid || seen !== resourceVersion) throw refusal(409);
    writes.push('delete');
    stored = undefined;
  },
} as unknown as KubeClient;
const owned = { client, resource: things };
const labelByOthers = (): void => {
  const labels = { ...stored?.metadata.labels, z: 'theirs' };
  store({ ...stored, metadata: { ...stored?.metadata, labels } });
};

const owner = (uid: string): OwnerReference => ({
  apiVersion: 'g/v1',
  kind: 'Parent',
  name: 'p',
  uid,
  controller: true,
});
const desired = (spec: Json, metadata: Partial<Desired['metadata']> = {}): Desired => ({
  metadata: { ...key, ...metadata },
  fields: { spec },
});
const bring = async (wanted: Desired | undefined): Promise<string> =>
  (await keep(owned, wanted, stored)).outcome;

beforeEach(() => {
  [stored, writes] = [undefined, []];
});

describe('an object that is kept', () => {
  it('is created, left alone while it is right, updated, and deleted', async () => {
    expect(await bring(desired({ a: '1' }))).toBe('created');
    expect(await bring(desired({ a: '1' }))).toBe('unchanged');
    expect(await bring(desired({ a: '2' }))).toBe('updated');
    expect(stored).toMatchObject({ apiVersion: 'g/v1', kind: 'Thing', spec: { a: '2' } });
    expect(await bring(undefined)).toBe('deleted');
    expect(await bring(undefined)).toBe('unchanged');
    expect(writes).toEqual(['create', 'merge', 'delete']);
  });

  it('has the fields that others manage cleared where no other client writes it', async () => {
    await bring(desired({ a: '1' }));
    expect(await bring({ ...desired({ a: '2' }), isUnmanaged: true })).toBe('updated');
    expect(stored?.metadata).toMatchObject({ managedFields: [{}] });
    expect(await bring({ ...desired({ a: '2' }), isUnmanaged: true })).toBe('unchanged');
  });

  it('gets its finalizers when it is created, and keeps those that it has', async () => {
    await bring(desired({ a: '1' }, { finalizers: ['x.org/a'] }));
    store({ ...stored, metadata: { ...stored?.metadata, finalizers: ['y.org/b'] } });
    expect(await bring(desired({ a: '2' }, { finalizers: ['x.org/a'] }))).toBe('updated');
    expect(stored?.metadata.finalizers).toEqual(['y.org/b']);
  });

  it('has unwanted fields removed in the same write', async () => {
    await bring(desired({ a: '1', b: { c: 1, d: 2 }, list: [1, 2] }, { labels: { mine: 'x' } }));
    const wanted = desired({ a: '2', b: { d: 2 }, list: [2] }, { labels: { mine: undefined } });
    expect(await bring(wanted)).toBe('updated');
    expect(stored).toMatchObject({ spec: { a: '2' }, metadata: { labels: {} } });
    expect(stored?.['spec']).toEqual({ a: '2', b: { d: 2 }, list: [2] });
    expect(writes).toEqual(['create', 'merge']);
  });

  it('keeps the labels, annotations and owners of others', async () => {
    const labels = { mine: 'x', gone: 'y' };
    await bring(desired({ a: '1' }, { labels, ownerReferences: [owner('o1')] }));
    const theirs = { labels: { ...labels, theirs: 'z' }, annotations: { note: 'n' } };
    const ownerReferences = [owner('o1'), { ...owner('o2'), controller: false }];
    store({ ...stored, metadata: { ...stored?.metadata, ...theirs, ownerReferences } });
    const wanted = { labels: { mine: 'x', gone: undefined }, ownerReferences: [owner('o1')] };
    expect(await bring(desired({ a: '1' }, wanted))).toBe('updated');
    expect(await bring(desired({ a: '1' }, wanted))).toBe('unchanged');
    expect(stored?.metadata).toMatchObject({
      labels: { mine: 'x', theirs: 'z' },
      annotations: { note: 'n' },
    });
    expect(stored?.metadata.ownerReferences?.map(({ uid }) => uid).sort()).toEqual(['o1', 'o2']);
  });
});

it('keeps a label of others with a name that every JavaScript object has, such as constructor', async () => {
  await bring(desired({ a: '1' }));
  const metadata = { ...stored?.metadata, labels: { constructor: 'theirs' } };
  store({ ...stored, metadata });
  expect(await bring(desired({ a: '1' }, { labels: {} }))).toBe('unchanged');
  expect(stored?.metadata.labels).toEqual({ constructor: 'theirs' });
});

describe('an object that is not ours to write', () => {
  it('stays unwritten when there is an object of that name that was not seen', async () => {
    store({ apiVersion: 'g/v1', kind: 'Thing', metadata: key, spec: { a: 'theirs' } });
    expect((await keep(owned, desired({ a: '1' }), undefined)).outcome).toBe('exists');
  });

  it.each([
    ['has changed', () => store({ ...stored })],
    ['is another one', () => store({ ...stored, metadata: { ...stored?.metadata, uid: 'u2' } })],
    ['is gone', () => (stored = undefined)],
  ])('stays unwritten when the object %s', async (_how, happens) => {
    await bring(desired({ a: '1', b: '1' }));
    const seen = stored;
    happens();
    for (const wanted of [desired({ a: '2', b: '2' }), desired({ a: '1' }), undefined])
      expect((await keep(owned, wanted, seen)).outcome).toBe('changed');
    expect(writes).toEqual(['create']);
  });
});

it('reads a missing object as undefined, and throws other errors', async () => {
  expect(await find(client, things, key)).toBeUndefined();
  store({ apiVersion: 'g/v1', kind: 'Thing', metadata: key });
  expect(await find(client, things, key)).toBe(stored);
  const broken = { get: () => Promise.reject(refusal(403)) } as unknown as KubeClient;
  await expect(find(broken, things, key)).rejects.toThrow(KubeError);
});

const value = fc.oneof(
  fc.constantFrom('1', '2', 3, true),
  fc.array(fc.constantFrom('1', '2'), { maxLength: 2 }),
  fc.dictionary(fc.constantFrom('c', 'd'), fc.constantFrom('1', '2'), {
    maxKeys: 2,
    noNullPrototype: true,
  }),
);
const spec = fc.dictionary(fc.constantFrom('a', 'b'), value, { maxKeys: 2, noNullPrototype: true });
const marks = fc.dictionary(
  fc.constantFrom('x', 'y'),
  fc.option(fc.constantFrom('1', '2'), { nil: undefined }),
  { maxKeys: 2, noNullPrototype: true },
);

it('makes any object what it should be with one write, and then has nothing left to write', async () => {
  const given = fc.record({ labels: marks, annotations: marks });
  await fc.assert(
    fc.asyncProperty(spec, given, spec, given, async (before, had, wanted, metadata) => {
      stored = undefined;
      await bring(desired(before, had));
      labelByOthers();
      writes = [];
      await bring(desired(wanted, metadata));
      expect(writes.length).toBeLessThanOrEqual(1);
      const now = await client.get(things, key);
      expect('spec' in now && now.spec).toEqual(wanted);
      expect(now.metadata.labels).toMatchObject({ ...defined(metadata.labels), z: 'theirs' });
      expect(await bring(desired(wanted, metadata))).toBe('unchanged');
    }),
  );
});

const defined = (of: Json): Json =>
  Object.fromEntries(Object.entries(of).filter(([, each]) => each !== undefined));
