import { expect, it } from 'vitest';
import type { KubeClient } from '#shared/kube/client.ts';
import { KubeError } from '#shared/kube/errors.ts';
import type { ResourceType } from '#shared/kube/objects.ts';
import { ALWAYS_LEADING } from '#shared/kube/testing/controller.ts';
import { silentLogger } from '#shared/runtime/log.ts';
import { createManualClock } from '#shared/runtime/testing/manual-clock.ts';
import { createRefusedPodsController } from './controller.ts';

const owner = (kind: string, name: string, spec: object, status: object, metadata = {}) => ({
  apiVersion: 'apps/v1',
  kind,
  metadata: { name, namespace: 'edge', uid: `uid-${name}`, creationTimestamp: '', ...metadata },
  spec,
  status,
});

const all = [
  owner('ReplicaSet', 'empty', { replicas: 2 }, { replicas: 0 }),
  owner('ReplicaSet', 'whole', { replicas: 2 }, { replicas: 2 }),
  owner('ReplicaSet', 'old', { replicas: 0 }, { replicas: 0 }),
  owner('ReplicaSet', 'going', { replicas: 2 }, {}, { deletionTimestamp: 'now' }),
  owner('StatefulSet', 'one-of-default', {}, {}),
  owner('DaemonSet', 'some', {}, { desiredNumberScheduled: 3, currentNumberScheduled: 1 }),
  owner('DaemonSet', 'nowhere', {}, { desiredNumberScheduled: 0, currentNumberScheduled: 0 }),
];

const start = (owners: readonly ReturnType<typeof owner>[] = all) => {
  const clock = createManualClock();
  const stop = new AbortController();
  const patched: { name: string; body: unknown }[] = [];
  const state = { ready: true, refused: new Map<string, number>() };
  const client = {
    list: async ({ kind, schema }: ResourceType, { labelSelector }: { labelSelector: string }) => {
      expect(labelSelector).toBe('sdewanPurpose');
      return {
        items: owners.filter((one) => one.kind === kind).map((one) => schema.parse(one)),
      };
    },
    patch: async (
      _resource: ResourceType,
      { name }: { name: string },
      { patch }: { patch: { body: unknown } },
    ) => {
      const status = state.refused.get(name);
      if (status !== undefined) throw new KubeError('patch', 'x', { status, reason: 'x' });
      patched.push({ name, body: patch.body });
    },
  } as unknown as KubeClient;
  const running = createRefusedPodsController({
    client,
    leadership: ALWAYS_LEADING,
    namespace: undefined,
    isReady: () => state.ready,
    clock,
    log: silentLogger,
  }).run(stop.signal);
  const pass = async (seconds: number): Promise<string[]> => {
    for (let second = 0; second < seconds; second += 1) {
      for (let turn = 0; turn < 40; turn += 1) await Promise.resolve();
      clock.advance(1_000);
    }
    return patched.splice(0).map(({ name }) => name);
  };
  return { state, patched, pass, end: async () => (stop.abort(), running) };
};

const lacking = ['empty', 'one-of-default', 'some'];

it('patches each owner that lacks pods by its uid, with one annotation, for half a minute', async () => {
  const { patched, pass, end } = start();
  await pass(0);
  expect((await pass(1)).slice(0, 3)).toEqual(lacking);
  await pass(2);
  patched.length = 0;
  expect(await pass(60)).toHaveLength((15 - 2) * lacking.length);
  expect(await pass(600)).toEqual([]);
  await end();
});

it('patches nothing but the annotation', async () => {
  const { patched, end } = start();
  await expect.poll(() => patched.length).toBe(3);
  expect(patched[0]?.body).toEqual({
    metadata: {
      uid: 'uid-empty',
      annotations: { 'sdewan.akraino.org/retried-at': '1970-01-01T00:00:00.000Z' },
    },
  });
  await end();
});

it.each([
  ['is gone', 409],
  ['the API server refuses to change', 422],
  ['a policy refuses to change', 403],
])(
  'patches no owner before the webhooks are served, and delays none by one that %s',
  async (_, status) => {
    const { state, pass, end } = start();
    state.ready = false;
    await pass(2);
    expect(await pass(60)).toEqual([]);
    state.refused.set('empty', status);
    state.ready = true;
    expect((await pass(3)).slice(0, 2)).toEqual(['one-of-default', 'some']);
    await end();
  },
);

it('namespaces take turns, however many owners one of them has', async () => {
  const many = Array.from({ length: 50 }, (_, at) =>
    owner('ReplicaSet', `mass-${at}`, { replicas: 1 }, {}, { namespace: 'mass' }),
  );
  const other = owner('DaemonSet', 'other', {}, { desiredNumberScheduled: 1 });
  const { pass, end } = start([...many, other]);
  await pass(0);
  expect((await pass(1)).slice(0, 2)).toEqual(['mass-0', 'other']);
  await end();
});
