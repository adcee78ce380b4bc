import { describe, expect, it } from 'vitest';
import type { KubeClient } from '#shared/kube/client.ts';
import { KubeError } from '#shared/kube/errors.ts';
import { objectSchema, type KubeObject, type ResourceType } from '#shared/kube/objects.ts';
import type { Clock } from '#shared/runtime/clock.ts';
import { clear, findAll, deletionProblemsOf } from './removal.ts';

const things: ResourceType = {
  group: 'x',
  version: 'v1',
  plural: 'things',
  kind: 'Thing',
  schema: objectSchema,
};
const { signal } = new AbortController();

const thing = (name: string, deletionTimestamp?: string): KubeObject => ({
  apiVersion: 'x/v1',
  kind: 'Thing',
  metadata: {
    name,
    namespace: 'edge',
    uid: `uid-of-${name}`,
    resourceVersion: '1',
    creationTimestamp: '',
    ...(deletionTimestamp !== undefined && { deletionTimestamp }),
  },
});

/** `onDelete`: what becomes of an object; default: it goes. */
const setUp = (names: string[], onDelete: (name: string) => KubeObject[] = () => []) => {
  let present = names.map((name) => thing(name));
  const said: string[] = [];
  const deleted: string[] = [];
  const time = { now: 0 };
  const client = {
    list: async () => ({ items: present, resourceVersion: '1' }),
    delete: async (_resource, { name }, options) => {
      expect(options?.preconditions?.uid).toBe(`uid-of-${name}`);
      deleted.push(name);
      present = [...present.filter(({ metadata }) => metadata.name !== name), ...onDelete(name)];
    },
  } as Pick<KubeClient, 'list' | 'delete'>;
  const clock = {
    monotonic: () => time.now,
    sleep: async (ms: number) => {
      time.now += ms;
    },
  } as Clock;
  const find = () => findAll(client, [things], { signal });
  const deps = { client, clock, say: (line: string) => said.push(line) };
  return {
    said,
    deleted,
    run: (timeoutMs = 10_000) => clear(deps, { what: 'things', find, timeoutMs, signal }),
  };
};

describe('clear', () => {
  it('deletes until nothing is left, even if new ones are created', async () => {
    const { run, said, deleted } = setUp(['a', 'b'], (name) => (name === 'a' ? [thing('c')] : []));
    expect(await run()).toEqual([]);
    expect(deleted.sort()).toEqual(['a', 'b', 'c']);
    expect(said).toEqual(['things: 2 remaining', 'things: deleted']);
  });

  it('returns what is not gone in time, and asks for its deletion once', async () => {
    const { run, deleted } = setUp(['stuck'], (name) => [thing(name, '2026-01-01T00:00:00Z')]);
    expect((await run()).map(({ object }) => object.metadata.name)).toEqual(['stuck']);
    expect(deleted).toEqual(['stuck']);
  });

  it('deletes nothing when the timeout is 0', async () => {
    const { run, deleted } = setUp(['a']);
    expect(await run(0)).toHaveLength(1);
    expect(deleted).toEqual([]);
  });
});

describe('findAll', () => {
  const failing = (...statuses: number[]) =>
    ({
      list: async () => {
        const status = statuses.shift();
        if (status === undefined) return { items: [thing('a')], resourceVersion: '1' };
        throw new KubeError('list things', 'no', { status, reason: 'No', retryAfterMs: 1 });
      },
    }) as Pick<KubeClient, 'list'>;

  it.each([
    ['takes an unknown resource for none', [404], 0],
    ['comes again when asked to', [429, 503, 429], 1],
  ])('%s', async (_, statuses, count) => {
    expect(await findAll(failing(...statuses), [things], { signal })).toHaveLength(count);
  });

  it('passes on an error that waiting does not fix', async () => {
    await expect(findAll(failing(403), [things], { signal })).rejects.toThrow('list things');
  });
});

describe('why an object is still there', () => {
  it('is shown by the conditions about its deletion that are true', () => {
    const conditions = [
      { type: 'Established', status: 'True', message: 'accepted' },
      { type: 'Terminating', status: 'True', reason: 'Failed', message: 'no list' },
      { type: 'NamespaceContentRemaining', status: 'True', reason: 'Some', message: 'pods: 2' },
      { type: 'NamespaceDeletionContentFailure', status: 'False', message: 'all well' },
    ];
    const object = Object.assign(thing('a'), { status: { conditions } });
    expect(deletionProblemsOf({ resource: things, object })).toEqual([
      { reason: 'Failed', message: 'no list' },
      { reason: 'Some', message: 'pods: 2' },
    ]);
  });

  it('is unknown for an object without conditions', () => {
    expect(deletionProblemsOf({ resource: things, object: thing('a') })).toEqual([]);
  });
});
