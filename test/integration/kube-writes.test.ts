import { createKubeClient, type KubeClient } from '#shared/kube/client.ts';
import { loadKubeConfig } from '#shared/kube/config.ts';
import { isConflict, isNotFound } from '#shared/kube/errors.ts';
import { EventRecorder } from '#shared/kube/events.ts';
import { addFinalizer, removeFinalizers, replaceStatus, type Fence } from '#shared/kube/fenced.ts';
import { keep, type Desired } from '#shared/kube/owned.ts';
import * as z from 'zod';
import { objectSchema, type KubeObject, type ResourceType } from '#shared/kube/objects.ts';
import { silentLogger } from '#shared/runtime/log.ts';
import { connectCluster, type Cluster } from 'kind-test-harness';
import { afterAll, beforeAll, beforeEach, describe, expect, it, vi } from 'vitest';

const schema = objectSchema.extend({ spec: z.unknown(), status: z.unknown().optional() });
type Thing = z.infer<typeof schema>;

const things: ResourceType<Thing> = {
  group: 'writes.example.org',
  version: 'v1',
  plural: 'things',
  kind: 'Thing',
  schema,
};
const open = { type: 'object', 'x-kubernetes-preserve-unknown-fields': true };
const crd = {
  apiVersion: 'apiextensions.k8s.io/v1',
  kind: 'CustomResourceDefinition',
  metadata: { name: 'things.writes.example.org' },
  spec: {
    group: things.group,
    scope: 'Namespaced',
    names: { plural: 'things', singular: 'thing', kind: 'Thing' },
    versions: [
      {
        name: 'v1',
        served: true,
        storage: true,
        subresources: { status: {} },
        schema: {
          openAPIV3Schema: {
            type: 'object',
            required: ['spec'],
            properties: {
              spec: { ...open, required: ['a'], properties: { a: { type: 'string' } } },
              status: open,
            },
          },
        },
      },
    ],
  },
};

let cluster: Cluster;
let client: KubeClient;
let namespace: string;
let key: { namespace: string; name: string };

beforeAll(async () => {
  cluster = await connectCluster();
  client = createKubeClient({ config: await loadKubeConfig({ kubeconfig: cluster.kubeconfig }) });
  await cluster.kubectl(['apply', '-f', '-'], { stdin: JSON.stringify(crd) });
  await cluster.kubectl(['wait', '--for=condition=Established', 'crd/things.writes.example.org']);
});

afterAll(async () => {
  await cluster.kubectl(['delete', 'crd', 'things.writes.example.org', '--wait=false']);
  await client.close();
});

beforeEach(async () => {
  namespace = await cluster.createNamespace('writes');
  key = { namespace, name: 't' };
});

const create = (finalizers: string[] = []): Promise<Thing> =>
  vi.waitFor(
    () =>
      client.create(things, {
        apiVersion: 'writes.example.org/v1',
        kind: 'Thing',
        metadata: { ...key, finalizers, labels: { keep: 'me' } },
        spec: { a: '1' },
      }),
    { timeout: 300_000, interval: 200 },
  );
const read = (): Promise<Thing> => client.get(things, key);
const fence = <T extends KubeObject>(object: T): Fence<T> => ({ client, resource: things, object });
const outcome = (write: Promise<unknown>): Promise<string> =>
  write.then(
    () => 'written',
    (error: unknown) => {
      if (isConflict(error)) return 'conflict';
      return isNotFound(error) ? 'not found' : String(error);
    },
  );

describe('a fenced write', () => {
  it('replaces a status whole, and leaves the rest of the object', async () => {
    const created = await create(['a.example.org/x']);
    const first = await replaceStatus(fence(created), { inSync: true, pods: { live: 1 } });
    const second = await replaceStatus(fence(first), { inSync: false });
    expect(second.status).toEqual({ inSync: false });
    const { metadata, spec } = await read();
    expect({ spec, labels: metadata.labels, finalizers: metadata.finalizers }).toEqual({
      spec: { a: '1' },
      labels: { keep: 'me' },
      finalizers: ['a.example.org/x'],
    });
    expect(metadata.generation).toBe(1);
  });

  it('is answered with the metadata only, however large the object is', async () => {
    const { metadata } = await create();
    const resource = { ...things, schema: objectSchema };
    const answer = 'metadata';
    const patched = await client.patch(resource, key, {
      patch: { type: 'merge', body: { spec: { a: '2' } } },
      answer,
    });
    const body = { ...patched, apiVersion: 'writes.example.org/v1', kind: 'Thing', status: {} };
    const replaced = await client.replace(resource, body, { subresource: 'status', answer });
    for (const one of [patched, replaced])
      expect([one.kind, one['spec'], one['status']]).toEqual([
        'PartialObjectMetadata',
        undefined,
        undefined,
      ]);
    expect(patched.metadata.resourceVersion).not.toBe(metadata.resourceVersion);
    expect(patched.metadata.labels).toEqual({ keep: 'me' });
  });

  it('is refused when the object has changed since', async () => {
    const stale = await create(['a.example.org/x']);
    await client.patch(things, key, { patch: { type: 'merge', body: { spec: { a: '2' } } } });
    expect(await outcome(replaceStatus(fence(stale), { inSync: true }))).toBe('conflict');
    expect(await outcome(removeFinalizers(fence(stale), ['a.example.org/x']))).toBe('conflict');
    expect(await outcome(addFinalizer(fence(stale), 'b.example.org/y'))).toBe('conflict');
    const now = await read();
    expect(now.status).toBeUndefined();
    expect(now.metadata.finalizers).toEqual(['a.example.org/x']);
  });

  it('never hits a successor of the same name', async () => {
    const dead = await create();
    await client.delete(things, key);
    expect(await outcome(replaceStatus(fence(dead), { inSync: true }))).toBe('not found');
    await create(['a.example.org/x']);
    const claims = { ...dead, metadata: { ...dead.metadata, finalizers: ['a.example.org/x'] } };
    expect(await outcome(replaceStatus(fence(dead), { inSync: true }))).toBe('conflict');
    expect(await outcome(removeFinalizers(fence(claims), ['a.example.org/x']))).toBe('conflict');
    const successor = await read();
    expect(successor.status).toBeUndefined();
    expect(successor.metadata.finalizers).toEqual(['a.example.org/x']);
    await removeFinalizers(fence(successor), ['a.example.org/x']);
  });

  it('lets a deleted object go when its last finalizer is removed, and creates none anew', async () => {
    await create(['a.example.org/x', 'a.example.org/y']);
    await client.delete(things, key);
    const dying = await read();
    await removeFinalizers(fence(dying), ['a.example.org/x']);
    await removeFinalizers(fence(await read()), ['a.example.org/y']);
    expect(await outcome(read())).toBe('not found');
    expect(await outcome(removeFinalizers(fence(dying), ['a.example.org/y']))).toBe('not found');
    expect(await outcome(read())).toBe('not found');
  });
});

describe('an object that is kept', () => {
  const thing = (spec: object, labels: Desired['metadata']['labels'] = {}): Desired => ({
    metadata: { ...key, labels },
    fields: { spec },
  });
  const bring = async (desired: Desired | undefined, present: Thing | undefined): Promise<string> =>
    (await keep({ client, resource: things }, desired, present)).outcome;

  it('has no managed fields any more where it is to have none', async () => {
    const managers = async (): Promise<unknown> => {
      const get = ['get', 'things.writes.example.org', 't', '-n', namespace];
      const { stdout } = await cluster.kubectl([...get, '--show-managed-fields', '-o', 'json']);
      const { metadata } = z
        .object({ metadata: z.object({ managedFields: z.unknown().optional() }) })
        .parse(JSON.parse(stdout));
      return metadata.managedFields;
    };
    const created = await create();
    expect(await managers()).toHaveLength(1);
    for (const a of ['2', '3'])
      expect(await bring({ ...thing({ a }), isUnmanaged: true }, await read())).toBe('updated');
    expect(await managers()).toBeUndefined();
    expect((await read()).metadata.uid).toBe(created.metadata.uid);
  });

  it.each([
    ['an addition', { a: '1', b: '1' }],
    ['a removal', { b: '1' }],
  ])('is not written over by %s when it has changed since', async (_write, spec) => {
    const stale = await create();
    await client.patch(things, key, { patch: { type: 'merge', body: { spec: { a: '3' } } } });
    for (const desired of [thing(spec), undefined])
      expect(await bring(desired, stale)).toBe('changed');
    expect((await read()).spec).toEqual({ a: '3' });
  });

  it('is not made again by an update when it is gone, and its successor is left alone', async () => {
    const dead = await create();
    await client.delete(things, key);
    for (const desired of [thing({ a: '1', b: '1' }), thing({}), undefined])
      expect(await bring(desired, dead)).toBe('changed');
    expect(await outcome(read())).toBe('not found');
    const successor = await create();
    for (const desired of [thing({ a: '1', b: '1' }), undefined])
      expect(await bring(desired, dead)).toBe('changed');
    expect(await read()).toEqual(successor);
    expect(await bring(thing({ a: '2' }), undefined)).toBe('exists');
    expect(await bring(undefined, successor)).toBe('deleted');
    expect(await outcome(read())).toBe('not found');
  });
});

it('spares a successor in a delete with a precondition', async () => {
  const { metadata } = await create();
  expect(await outcome(client.delete(things, key, { preconditions: { uid: 'other' } }))).toBe(
    'conflict',
  );
  await client.delete(things, key, { preconditions: { uid: metadata.uid } });
  expect(await outcome(read())).toBe('not found');
});

it('answers a dry run and writes nothing', async () => {
  const body = {
    apiVersion: 'writes.example.org/v1',
    kind: 'Thing',
    metadata: key,
    spec: { a: '1' },
  };
  await create();
  await client.delete(things, key);
  const answered = await client.create(things, body, { dryRun: true });
  expect(answered.metadata.uid).not.toBe('');
  expect(await outcome(read())).toBe('not found');
});

it('fills a TokenReview in', async () => {
  const reviews = {
    group: 'authentication.k8s.io',
    version: 'v1',
    plural: 'tokenreviews',
    kind: 'TokenReview',
    schema: z.object({ status: z.object({ authenticated: z.boolean().optional() }) }),
  };
  const review = {
    apiVersion: 'authentication.k8s.io/v1',
    kind: 'TokenReview',
    spec: { token: 'no such' },
  };
  const answer = await client.create(reviews, review);
  expect(answer.status.authenticated).not.toBe(true);
});

it('Events are what `kubectl describe` shows, counted across restarts', async () => {
  const object = await create();
  const say = async (times: number): Promise<void> => {
    const stop = new AbortController();
    const written = Promise.withResolvers<void>();
    const recorder = new EventRecorder({
      client: {
        ...client,
        create: async (...args) => {
          const made = await client.create(...args);
          written.resolve();
          return made;
        },
        patch: async (...args) => {
          const changed = await client.patch(...args);
          written.resolve();
          return changed;
        },
      },
      component: 'sdewan-coordinator',
      instance: 'coordinator-0',
      coalesceMs: 50,
      log: silentLogger,
    });
    const running = recorder.run(stop.signal);
    for (let i = 0; i < times; i += 1)
      recorder.record({
        object,
        type: 'Warning',
        reason: 'RemovalBlocked',
        message: 'pod a blocks',
      });
    await written.promise;
    stop.abort();
    await running;
  };
  await say(3);
  await say(2);
  const { stdout } = await cluster.kubectl([
    '-n',
    namespace,
    'describe',
    'things.writes.example.org',
    't',
  ]);
  expect(stdout).toMatch(
    /Warning\s+RemovalBlocked\s+.*\(x5 over .*sdewan-coordinator\s+pod a blocks/,
  );
});
