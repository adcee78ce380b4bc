/**
 * An update in a window with all that takes part in it: a real registry, the coordinators as they
 * are installed, and kubelets that start what the Deployment names.
 */
import * as z from 'zod';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { connectCluster } from 'kind-test-harness';
import { startRegistry, type Registry } from '../../registry/registry.ts';
import { coordinatorReady } from '../../stack/faults.ts';
import { SYSTEM_NAMESPACE } from '../../stack/installation.ts';
import { withOwnNamespaces } from '../../stack/own-namespaces.ts';
import { podsPath } from '../../stack/collections.ts';
import { until } from '../../stack/observe.ts';
import { apply } from '../../stack/operator.ts';
import {
  applyFleet,
  PURPOSE,
  serves,
  startTraffic,
  trafficRules,
  untilTraffic,
  waitForFleet,
} from './cnf.ts';
import { trafficImage } from './traffic-image.ts';

const cluster = withOwnNamespaces(await connectCluster());
const COORDINATORS = ['deployment/sdewan-coordinator', '-n', SYSTEM_NAMESPACE];

let registry: Registry;
beforeAll(async () => {
  registry = await startRegistry();
  const env = {
    SDEWAN_REGISTRIES: registry.host,
    SDEWAN_REGISTRY_CONFIG_FILE: registry.configFile,
    SDEWAN_REGISTRY_CA_FILE: registry.caFile,
    SDEWAN_REGISTRY_NETWORKS: '127.0.0.0/8,::1/128',
    SDEWAN_REGISTRY_TAGS_MS: '2000',
  };
  const words = Object.entries(env).map(([name, value]) => `${name}=${value}`);
  await cluster.kubectl(['set', 'env', ...COORDINATORS, ...words]);
  await coordinatorReady(cluster);
});
afterAll(async () => {
  await cluster.kubectl(['rollout', 'undo', ...COORDINATORS]);
  await coordinatorReady(cluster);
  await registry.stop();
});

const imagesSchema = z.object({ containers: z.array(z.object({ image: z.string() })) });
const deploymentSchema = z.object({
  spec: z.looseObject({ template: z.object({ spec: imagesSchema }) }),
  status: z
    .object({ resolvedImages: z.array(z.object({ image: z.string(), digest: z.string() })) })
    .partial()
    .default({}),
});
const podsSchema = z.object({ items: z.array(z.object({ spec: imagesSchema })) });

it('rolls out the digest that a tag stands for, and the next one when the tag is moved, without loss, and leaves the spec as it is', async () => {
  const namespace = await cluster.createNamespace('updates');
  const image = `${registry.host}/traffic:stable`;
  cluster.registerImages({ [image]: trafficImage });
  const first = await registry.push('traffic', 'stable');
  const cnf = { namespace, replicas: 1, version: '1', lateMs: 0, image };
  const seen = async () => {
    const of = `/apis/fleet.sdewan.akraino.org/v1alpha1/namespaces/${namespace}/cnfdeployments/${PURPOSE}`;
    return deploymentSchema.parse(await cluster.api.find(of));
  };
  await apply(cluster, namespace, ...trafficRules());
  await applyFleet(cluster, cnf);
  const { currentRevision } = await waitForFleet(cluster, namespace, 'it serves', serves(1));
  await untilTraffic(cluster, namespace);
  const traffic = await startTraffic(cluster, namespace);

  const updates = { schedule: '* * * * *', duration: '24h', timeZone: 'Etc/UTC' };
  await applyFleet(cluster, { ...cnf, spec: { updates } });
  const { spec } = await seen();
  const untilItServes = async (digest: string, before: string | undefined) => {
    const status = await waitForFleet(cluster, namespace, 'it is updated', serves(1, before));
    const images = await until('its pod alone is there', async () => {
      const { items } = podsSchema.parse(await cluster.api.find(podsPath(namespace)));
      const [pod, ...others] = items;
      return pod && others.length === 0 ? pod.spec.containers.map((one) => one.image) : undefined;
    });
    expect(images).toContain(`${image}@${digest}`);
    const after = await seen();
    expect(after.spec).toEqual(spec);
    expect(after.status.resolvedImages).toContainEqual({ image, digest });
    return status.currentRevision;
  };
  const updated = await untilItServes(first, currentRevision);
  const moved = await registry.push('traffic', 'stable');
  expect(moved).not.toBe(first);
  await untilItServes(moved, updated);
  expect((await traffic.stop()).lost).toEqual([]);
});
