/**
 * CNFs for tests and the demo: the seed's Deployment, with whatever name and size. The webhook puts
 * the agent in.
 */
import { parse } from 'yaml';
import * as z from 'zod';
import type { Cluster } from 'kind-test-harness';
import { loginPrerequisites, variantOf } from './logins.ts';
import { readManifest } from './manifests.ts';
import { apply, waitForPods } from './operator.ts';

export type Cnf = {
  namespace: string;
  purpose: string;
  replicas: number;
  /**
   * The driver that the agent is given, and the only API of its OpenWRT. Absent: no driver is
   * given, and OpenWRT has all APIs.
   */
  driver?: 'ubus' | 'icn';
  /**
   * One that the operator made, with the rights of the staged way only. Absent: one of the agent's
   * own, or root's for icn.
   */
  login?: 'staged';
  /** What its OpenWRT has instead of firewall4. */
  firewall?: 'fw3';
  /** Seconds of grace, all of which it uses up at its end. Absent: it ends at once. */
  usesUpGrace?: number;
  /**
   * Milliseconds that each reload of its firewall takes besides those per section. Absent: none.
   */
  reloadMs?: number;
  /** Absent: the cluster's own. */
  runtimeClassName?: string;
  /** Annotations of the pod template, besides its own. */
  annotations?: Readonly<Record<string, string>>;
};

const deploymentSchema = z.looseObject({
  metadata: z.looseObject({}),
  spec: z.looseObject({
    template: z.looseObject({
      metadata: z.looseObject({ annotations: z.record(z.string(), z.string()) }),
      spec: z.looseObject({
        containers: z.array(z.looseObject({ volumeMounts: z.array(z.looseObject({})) })),
        volumes: z.array(z.looseObject({})),
      }),
    }),
  }),
});

/**
 * The stand-in ends at once; who deletes a namespace looks again after half of the longest grace
 * period in it.
 */
const GRACE_SECONDS = 5;

const deployment = async (cnf: Cnf): Promise<object> => {
  const { purpose, replicas } = cnf;
  const variant = variantOf(cnf);
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
        metadata: {
          ...templateMetadata,
          labels: { ...labels, ...variant.labels },
          annotations: {
            ...templateMetadata.annotations,
            ...variant.annotations,
            ...cnf.annotations,
          },
        },
        spec: {
          ...podSpec,
          runtimeClassName: cnf.runtimeClassName,
          serviceAccountName: 'cnf',
          terminationGracePeriodSeconds: cnf.usesUpGrace ?? GRACE_SECONDS,
          containers: podSpec.containers.map((container) => ({
            ...container,
            env: Object.entries(variant.env).map(([name, value]) => ({ name, value })),
            volumeMounts: [...container.volumeMounts, ...variant.volumeMounts],
          })),
          volumes: [...podSpec.volumes, ...variant.volumes],
        },
      },
    },
  };
};

/**
 * What a namespace of CNFs has anyway: a service account for them, logins, and the script that
 * their image starts.
 */
const prerequisites = ({ usesUpGrace }: Cnf): readonly object[] => [
  { apiVersion: 'v1', kind: 'ServiceAccount', metadata: { name: 'cnf' } },
  ...loginPrerequisites,
  {
    apiVersion: 'v1',
    kind: 'ConfigMap',
    metadata: { name: 'cnf-1-entrypoint' },
    data: { 'entrypoint.sh': usesUpGrace ? "trap '' TERM\nopenwrt\n" : 'exec openwrt\n' },
  },
];

/** The CNF with all that it needs, as an operator has it in files. */
export const cnfObjects = async (cnf: Cnf): Promise<object[]> => [
  ...prerequisites(cnf),
  await deployment(cnf),
];

/** Creates the CNF and, unless disabled, waits until all its pods are Ready. */
export const createCnf = async (
  cluster: Cluster,
  cnf: Cnf,
  { wait = true }: { wait?: boolean } = {},
): Promise<void> => {
  await apply(cluster, cnf.namespace, ...(await cnfObjects(cnf)));
  if (wait) await waitForPods(cluster, cnf.namespace, cnf.purpose, cnf.replicas);
};

/** As an operator changes the CNF's template: a rolling update, at whose end all pods are Ready. */
export const updateCnf = async (cluster: Cluster, cnf: Cnf): Promise<void> => {
  const { namespace, purpose, replicas } = cnf;
  await apply(cluster, namespace, await deployment(cnf));
  const timeout = ['--timeout=500s', `deployment/${purpose}`];
  await cluster.kubectl(['rollout', 'status', '-n', namespace, ...timeout]);
  await waitForPods(cluster, namespace, purpose, replicas);
};

export const deleteCnf = async (
  cluster: Cluster,
  namespace: string,
  purpose: string,
): Promise<void> => {
  await cluster.kubectl(['delete', '-n', namespace, `deployment/${purpose}`]);
};
