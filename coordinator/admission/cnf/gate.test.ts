import { expect, it } from 'vitest';
import type { KubeClient } from '#shared/kube/client.ts';
import { KubeError } from '#shared/kube/errors.ts';
import type { ResourceType } from '#shared/kube/objects.ts';
import { silentLogger } from '#shared/runtime/log.ts';
import type { AdmissionRequest } from '../review.ts';
import { createGates } from './gate.ts';

type Fixture = {
  rootKind?: string;
  strategy?: string;
  uid?: string;
  current?: string | undefined;
  live?: object[];
  fails?: boolean;
  isPartial?: true;
};

const labels = { sdewanPurpose: 'cnf-1' };
const metadata = { name: 'p', uid: 'u', creationTimestamp: '2026-01-01T00:00:00Z' };
const live = { apiVersion: 'v1', kind: 'Pod', metadata, spec: {}, status: {} };
const ended = { ...live, status: { phase: 'Failed' } };
const going = { ...live, metadata: { ...metadata, deletionTimestamp: 'now' } };

const gateFor = (
  fixture: Fixture,
  hash: string | undefined,
  owner = 'ReplicaSet',
  signal = AbortSignal.timeout(1_000),
): Promise<boolean> => {
  const { rootKind = 'CNFDeployment', strategy = 'RollingUpdate', uid = 'uid-1' } = fixture;
  const current = 'current' in fixture ? fixture.current : 'old';
  const client = {
    get: async () => {
      if (fixture.fails) throw new KubeError('get', 'down', { status: 0, reason: 'Unreachable' });
      return { metadata: { uid }, spec: { strategy }, status: { currentRevision: current } };
    },
    list: async (
      { schema }: ResourceType,
      { labelSelector, pageSize }: { labelSelector: string; pageSize: number },
    ) => {
      expect(labelSelector).toBe(`pod-template-hash=${current}`);
      expect(pageSize).toBeGreaterThan(0);
      const items = (fixture.live ?? [live]).map((pod) => schema.parse(pod));
      expect(JSON.stringify(items)).not.toContain('spec');
      return { items, resourceVersion: '1', isPartial: fixture.isPartial };
    },
  } as unknown as KubeClient;
  const lookups = { rootOf: async () => ({ kind: rootKind, name: 'cnf-1', uid: 'uid-1' }) };
  const controller = { apiVersion: 'apps/v1', kind: owner, name: 'x', uid: 'u', controller: true };
  const object = {
    metadata: {
      labels: { ...labels, ...(hash !== undefined && { 'pod-template-hash': hash }) },
      ownerReferences: [controller],
    },
  };
  const request = { namespace: 'edge', object } as unknown as AdmissionRequest;
  return createGates({ client, lookups, log: silentLogger })(request, signal);
};

it.each<[string, Fixture]>([
  ['another set has a pod', {}],
  ['another set may have one behind those that were read', { live: [ended], isPartial: true }],
])('lets a pod of a new set wait while %s', async (_, fixture) => {
  expect(await gateFor(fixture, 'new')).toBe(true);
});

it.each<[string, Fixture, string | undefined]>([
  ['of the set that serves', {}, 'old'],
  ['of the first set', { current: undefined }, 'new'],
  ['when no pod of the set that serves is left', { live: [ended, going] }, 'new'],
  ['of a CNF that is made anew', { strategy: 'Recreate' }, 'new'],
  ['of a Deployment of people', { rootKind: 'Deployment' }, 'new'],
  ['of a CNFDeployment of that name that is gone', { uid: 'uid-2' }, 'new'],
  ['without a set', {}, undefined],
  ['when nothing is known, for want of an answer', { fails: true }, 'new'],
])('lets a pod pass: %s', async (_, fixture, hash) => {
  expect(await gateFor(fixture, hash)).toBe(false);
});

it('lets a pod of a DaemonSet pass', async () => {
  expect(await gateFor({}, 'new', 'DaemonSet')).toBe(false);
});

it('takes no pod for one without a gate when the answers do not come in time', async () => {
  const over = AbortSignal.abort(new Error('no answer in time'));
  await expect(gateFor({ fails: true }, 'new', 'ReplicaSet', over)).rejects.toThrow(
    'no answer in time',
  );
});
