/**
 * A tenant that may create workloads makes a second one for the purpose of a CNF, with the label in
 * its pod template only, where no webhook for workloads sees it, and pods that opt out of the
 * agent, or bring one that never reports. Before, its pods counted: all rules of the CNF were out
 * of sync.
 */
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { KubeObject } from '#shared/kube/objects.ts';
import { podResource } from '../../coordinator/sources/workload.ts';
import { createFixture, type Fixture } from '../integration/admission/fixture.ts';
import { eventually } from '../integration/support/eventually.ts';

const PURPOSE = 'cnf-1';
const AGENT = {
  name: 'sdewan-agent',
  image: 'none',
  restartPolicy: 'Always',
  env: [{ name: 'SDEWAN_PURPOSE', value: PURPOSE }],
};

let fixture: Fixture;
beforeAll(async () => {
  fixture = await createFixture();
});
afterAll(() => fixture.close());

type Second = { annotations?: Record<string, string>; agents?: readonly object[] };
const workload = (
  namespace: string,
  name: string,
  { annotations, agents }: Second,
  labels: object = {},
) => ({
  apiVersion: 'apps/v1',
  kind: 'Deployment',
  metadata: { name, namespace, labels },
  spec: {
    replicas: 1,
    selector: { matchLabels: { app: name } },
    template: {
      metadata: {
        labels: { app: name, sdewanPurpose: PURPOSE },
        ...(annotations && { annotations }),
      },
      spec: {
        schedulerName: 'none',
        terminationGracePeriodSeconds: 0,
        containers: [{ name: 'openwrt', image: 'none' }],
        ...(agents && { initContainers: agents }),
      },
    },
  },
});

const OPTED_OUT = { 'sdewan.akraino.org/inject': 'false' };
const WITHOUT_WEBHOOK = { 'sdewan.akraino.org/without-webhook': 'true' };
const ways: Record<string, Second> = {
  'a Deployment whose pods opt out': { annotations: OPTED_OUT },
  'a Deployment whose pods bring an agent': {
    annotations: WITHOUT_WEBHOOK,
    agents: [AGENT],
  },
};

const cnfIn = async (namespace: string): Promise<void> => {
  const cnf = workload(namespace, 'cnf', {}, { sdewanPurpose: PURPOSE });
  expect(await fixture.apply([cnf])).toMatchObject({ code: 0 });
  await eventually(async () => (await podsOf(namespace, 'cnf')).length).toBe(1);
};
const podsOf = async (namespace: string, app: string): Promise<KubeObject[]> =>
  (await fixture.client.list(podResource, { namespace, labelSelector: `app=${app}` })).items;

/** Why its controller has made no pod. */
const expectRefused = async (namespace: string, second: Second): Promise<void> => {
  expect(await fixture.apply([workload(namespace, 'second', second)])).toMatchObject({ code: 0 });
  await eventually(async () => {
    const { stdout } = await fixture.kubectl('get', 'events', '-n', namespace, '-o', 'json');
    return [(await podsOf(namespace, 'second')).length > 0 ? 'made' : 'not made', stdout];
  }).toEqual([
    'not made',
    expect.stringContaining(`Deployment cnf already serves purpose ${PURPOSE}`),
  ]);
};

describe('a second workload with the label in its pod template only gets no pods:', () => {
  it.each(Object.entries(ways))('%s', async (_, second) => {
    const namespace = await fixture.createNamespace();
    await cnfIn(namespace);
    await expectRefused(namespace, second);
  });

  it('happens in a namespace without agents', async () => {
    const namespace = await fixture.createNamespace();
    await fixture.kubectl('label', 'namespace', namespace, 'sdewan.akraino.org/inject=disabled');
    await cnfIn(namespace);
    await expectRefused(namespace, {});
  });
});

it('does not hold up pods of a CNF while no coordinator answers', async () => {
  const namespace = await fixture.createNamespace();
  await fixture.stopCoordinator();
  const second = { annotations: OPTED_OUT };
  expect(await fixture.apply([workload(namespace, 'alone', second)])).toMatchObject({ code: 0 });
  await eventually(async () => (await podsOf(namespace, 'alone')).length).toBe(1);
});
