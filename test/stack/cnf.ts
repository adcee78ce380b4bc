/** CNFs for tests and the demo: the seed's Deployment, with whatever name and size. The webhook puts the agent in. */
import { parse } from 'yaml';
import * as z from 'zod';
import type { Cluster } from 'kind-test-harness';
import { readManifest } from './manifests.ts';
import { apply, waitForPods } from './operator.ts';

export type Cnf = { namespace: string; purpose: string; replicas: number };

const deploymentSchema = z.looseObject({
  metadata: z.looseObject({}),
  spec: z.looseObject({
    template: z.looseObject({ metadata: z.looseObject({}), spec: z.looseObject({}) }),
  }),
});

const deployment = async ({ purpose, replicas }: Cnf): Promise<object> => {
  const { metadata, spec, ...rest } = deploymentSchema.parse(
    parse(await readManifest('seed-cnf.yaml')),
  );
  const labels = { sdewanPurpose: purpose };
  const { metadata: templateMetadata, spec: podSpec } = spec.template;
  return {
    ...rest,
    metadata: { ...metadata, name: purpose, labels },
    spec: {
      ...spec,
      replicas,
      selector: { matchLabels: labels },
      template: {
        metadata: { ...templateMetadata, labels },
        spec: { ...podSpec, serviceAccountName: 'cnf' },
      },
    },
  };
};

/** What a namespace of CNFs has anyway: a service account for them, and the script that their image starts. */
const prerequisites: readonly object[] = [
  { apiVersion: 'v1', kind: 'ServiceAccount', metadata: { name: 'cnf' } },
  {
    apiVersion: 'v1',
    kind: 'ConfigMap',
    metadata: { name: 'cnf-1-entrypoint' },
    data: { 'entrypoint.sh': 'exec openwrt\n' },
  },
];

/** Creates the CNF and, unless told otherwise, waits until all its pods are Ready. */
export const createCnf = async (
  cluster: Cluster,
  cnf: Cnf,
  { wait = true }: { wait?: boolean } = {},
): Promise<void> => {
  await apply(cluster, cnf.namespace, ...prerequisites, await deployment(cnf));
  if (wait) await waitForPods(cluster, cnf.namespace, cnf.purpose, cnf.replicas);
};

export const deleteCnf = async (
  cluster: Cluster,
  namespace: string,
  purpose: string,
): Promise<void> => {
  await cluster.kubectl(['delete', '-n', namespace, `deployment/${purpose}`]);
};
