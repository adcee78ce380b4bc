import { describe, expect, it } from 'vitest';
import type { KubeClient } from '#shared/kube/client.ts';
import { KEEP_ADDRESSES_ANNOTATION } from '#shared/names.ts';
import { FakeFleetApi } from '../fleet/testing/api-server.ts';
import { createKeepers, keepProblem } from './keep-addresses.ts';
import { port } from './testing.ts';

const template = (keep?: string) => ({
  metadata: { annotations: { ...(keep !== undefined && { [KEEP_ADDRESSES_ANNOTATION]: keep }) } },
});
const RECREATE = { strategy: { type: 'Recreate' } };

describe('a workload whose pods keep addresses', () => {
  const problemOf = (kind: string, spec: object, keep = 'true') =>
    keepProblem({ kind, metadata: { name: 'w' }, spec: { template: template(keep), ...spec } });

  it.each<[string, object]>([
    ['StatefulSet', { replicas: 3 }],
    ['Deployment', RECREATE],
    ['CNFDeployment', { replicas: 1, strategy: 'Recreate' }],
  ])('may be a %s', (kind, spec) => expect(problemOf(kind, spec)).toBeUndefined());

  it.each<[string, object, string]>([
    ['Deployment', {}, 'it has 1 and RollingUpdate: for an address'],
    ['CNFDeployment', { replicas: 2, strategy: 'Recreate' }, 'it has 2 and Recreate: for an'],
    ['DaemonSet', {}, 'DaemonSet w keeps no addresses'],
  ])('is refused as %s %j', (kind, spec, words) => {
    expect(problemOf(kind, spec)).toContain(words);
  });

  it('is refused by the value of its annotation, unless that asks for nothing', () => {
    expect(problemOf('StatefulSet', {}, 'yes')).toContain('"yes" must be "true" or "false"');
    expect(problemOf('DaemonSet', {}, 'false')).toBeUndefined();
    expect(keepProblem({ kind: 'DaemonSet', spec: { template: {} } })).toBeUndefined();
  });

  it('names VirtualAddress where its pods run side by side', () => {
    expect(problemOf('Deployment', {})).toContain('use a VirtualAddress');
  });
});

const signal = new AbortController().signal;
const resource = (kind: string) => ({ plural: `${kind.toLowerCase()}s`, kind });
const apiWith = (...objects: [kind: string, name: string, spec: object, owner?: string][]) => {
  const api = new FakeFleetApi();
  for (const [kind, name, spec, owner] of objects)
    api.put(resource(kind), {
      metadata: { name, ...(owner && { ownerReferences: [refOf(owner)] }) },
      spec,
    });
  return api;
};
const refOf = (text: string) => {
  const [kind = '', name = ''] = text.split('/');
  const uid = `uid-${resource(kind).plural}-${name}`;
  return { apiVersion: 'apps/v1', kind, name, uid, controller: true };
};
const keeperOf = (client: KubeClient, pod: string, owner?: string, text = 'true') =>
  createKeepers(client).of(
    {
      ...port(1, pod),
      metadata: { ...port(1, pod).metadata, name: pod, namespace: 'edge' },
      keep: { text, controller: owner === undefined ? undefined : refOf(owner) },
    },
    signal,
  );

describe('what keeps the addresses of a pod', () => {
  const api = apiWith(
    ['StatefulSet', 'db', { template: template('true') }],
    ['Deployment', 'web', { ...RECREATE, template: template('true') }],
    ['ReplicaSet', 'web-1', { template: template('true') }, 'Deployment/web'],
    ['Deployment', 'rolls', { template: template('true') }],
    ['ReplicaSet', 'rolls-1', { template: template('true') }, 'Deployment/rolls'],
    ['ReplicaSet', 'alone', { template: template('true') }],
  );

  it('is its StatefulSet, or the Deployment of its ReplicaSet', async () => {
    expect(await keeperOf(api.client(), 'db-2', 'StatefulSet/db')).toEqual({
      kind: 'StatefulSet',
      name: 'db',
      uid: 'uid-statefulsets-db',
    });
    expect(await keeperOf(api.client(), 'web-1-x', 'ReplicaSet/web-1')).toEqual({
      kind: 'Deployment',
      name: 'web',
      uid: 'uid-deployments-web',
    });
  });

  it.each<[string, string | undefined, string]>([
    [
      'rolls-1-x',
      'ReplicaSet/rolls-1',
      'Deployment rolls must have one replica and strategy Recreate',
    ],
    ['alone-x', 'ReplicaSet/alone', 'ReplicaSet alone keeps no addresses'],
    ['bare', undefined, 'pod bare keeps no addresses'],
    ['db-x', 'StatefulSet/db', 'pod db-x has no ordinal of StatefulSet db'],
    ['gone-0', 'StatefulSet/gone', 'StatefulSet gone, which owns it, is not there'],
  ])('is missing for pod %s of %s', async (pod, owner, words) => {
    expect(await keeperOf(api.client(), pod, owner)).toMatchObject({
      problem: expect.stringContaining(words),
    });
  });

  it.each(['db/scale', '..', 'DB', 'db%2Fscale'])(
    'is looked for under no name that no object can have: %j',
    async (name) => {
      const api = apiWith(['StatefulSet', 'db', { template: template('true') }]);
      const controller = { ...refOf('StatefulSet/db'), name };
      const { metadata } = port(1, 'db-0');
      const pod = { ...port(1, 'db-0'), metadata: { ...metadata, namespace: 'edge' } };
      const found = createKeepers(api.client()).of(
        { ...pod, keep: { text: 'true', controller } },
        signal,
      );
      expect(await found).toMatchObject({ problem: expect.stringContaining('is not there') });
      expect(api.reads).toEqual([]);
    },
  );
});

describe('an address that no pod has', () => {
  const keeps = (
    spec: object,
    pod: string,
    kind: 'StatefulSet' | 'Deployment',
    some: object = {},
  ) => {
    const api = apiWith([kind, 'w', spec]);
    const { uid } = refOf(`${kind}/w`);
    const held = port(1, pod, 'edge-net', { keeper: { kind, name: 'w', uid, ...some } });
    return createKeepers(api.client()).keeps(held, signal);
  };
  const kept = template('true');

  it.each<[string, object, string, 'StatefulSet' | 'Deployment', boolean]>([
    ['of an ordinal', { replicas: 2, template: kept }, 'w-1', 'StatefulSet', true],
    [
      'of an ordinal that is too high',
      { replicas: 2, template: kept },
      'w-2',
      'StatefulSet',
      false,
    ],
    [
      'of an ordinal that is too low',
      { replicas: 2, ordinals: { start: 5 }, template: kept },
      'w-4',
      'StatefulSet',
      false,
    ],
    [
      'where the template keeps none',
      { replicas: 2, template: template() },
      'w-1',
      'StatefulSet',
      false,
    ],
    ['of a Deployment', { ...RECREATE, template: kept }, 'w-a', 'Deployment', true],
    [
      'of a Deployment of no pods',
      { ...RECREATE, replicas: 0, template: kept },
      'w-a',
      'Deployment',
      false,
    ],
    ['of a Deployment that rolls now', { template: kept }, 'w-a', 'Deployment', false],
  ])('%s is kept or free', async (_, spec, pod, kind, expected) => {
    expect(await keeps(spec, pod, kind)).toBe(expected);
  });

  it('is free when its owner is gone, or another of its name is there', async () => {
    expect(await keeps({ template: kept }, 'w-0', 'StatefulSet', { name: 'gone' })).toBe(false);
    expect(await keeps({ template: kept }, 'w-0', 'StatefulSet', { uid: 'older' })).toBe(false);
  });
});
