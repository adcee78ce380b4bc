/** CNFs for tests and the demo: the seed's Deployment, with whatever name and size. */
import { parse } from 'yaml';
import { z } from 'zod';
import { inject } from '#shared/inject/inject.ts';
import type { InjectOptions } from '#shared/inject/options.ts';
import type { PodTemplate } from '#shared/inject/pod.ts';
import type { Cluster } from 'kind-test-harness';
import { AGENT_IMAGE, AGENT_PASSWORD } from './images.ts';
import { COORDINATOR_CA, COORDINATOR_URL, coordinatorCa } from './install.ts';
import { readManifest } from './manifests.ts';
import { apply, waitForPods } from './operator.ts';

export type Cnf = { namespace: string; purpose: string; replicas: number };

const LOGIN_SECRET = 'cnf-login';
const LOGIN = { username: 'sdewan', password: AGENT_PASSWORD };

const options: InjectOptions = {
  image: AGENT_IMAGE,
  coordinatorUrl: COORDINATOR_URL,
  coordinatorCaConfigMap: COORDINATOR_CA,
  openwrtUrl: 'http://127.0.0.1:80',
  driver: 'auto',
  ownLogin: false,
  loginSecret: LOGIN_SECRET,
  logLevel: 'info',
  resources: { requests: { cpu: '10m', memory: '64Mi' }, limits: { memory: '192Mi' } },
};

const deploymentSchema = z.looseObject({
  metadata: z.looseObject({}),
  spec: z.looseObject({ template: z.custom<PodTemplate>() }),
});

const deployment = async ({ purpose, replicas }: Cnf): Promise<object> => {
  const { metadata, spec, ...rest } = deploymentSchema.parse(
    parse(await readManifest('seed-cnf.yaml')),
  );
  const labels = { sdewanPurpose: purpose };
  const { metadata: templateMetadata, spec: podSpec } = spec.template;
  const template: PodTemplate = {
    metadata: { ...templateMetadata, labels },
    spec: {
      ...podSpec,
      serviceAccountName: 'cnf',
    },
  };
  return {
    ...rest,
    metadata: { ...metadata, name: purpose, labels },
    spec: {
      ...spec,
      replicas,
      selector: { matchLabels: labels },
      template: inject(template, options),
    },
  };
};

/** What an operator gives a namespace before its first CNF: the agents' identity, rights and login. */
const prerequisites = (namespace: string, ca: string): object[] => [
  {
    apiVersion: 'v1',
    kind: 'ConfigMap',
    metadata: { name: COORDINATOR_CA },
    data: { 'ca.crt': ca },
  },
  { apiVersion: 'v1', kind: 'ServiceAccount', metadata: { name: 'cnf' } },
  {
    apiVersion: 'v1',
    kind: 'ConfigMap',
    metadata: { name: 'cnf-1-entrypoint' },
    data: { 'entrypoint.sh': 'exec openwrt\n' },
  },
  {
    apiVersion: 'rbac.authorization.k8s.io/v1',
    kind: 'RoleBinding',
    metadata: { name: 'sdewan-agent' },
    roleRef: { apiGroup: 'rbac.authorization.k8s.io', kind: 'ClusterRole', name: 'sdewan-agent' },
    subjects: [{ kind: 'ServiceAccount', name: 'cnf', namespace }],
  },
  { apiVersion: 'v1', kind: 'Secret', metadata: { name: LOGIN_SECRET }, stringData: LOGIN },
  // What the seed's container runs. A registered image of the process kubelet runs its own program instead.
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
  await apply(
    cluster,
    cnf.namespace,
    ...prerequisites(cnf.namespace, await coordinatorCa(cluster)),
    await deployment(cnf),
  );
  if (wait) await waitForPods(cluster, cnf.namespace, cnf.purpose, cnf.replicas);
};

export const deleteCnf = async (
  cluster: Cluster,
  namespace: string,
  purpose: string,
): Promise<void> => {
  await cluster.kubectl(['delete', '-n', namespace, `deployment/${purpose}`]);
};
