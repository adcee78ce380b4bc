/**
 * One whole installation for all rows of the table: a real control plane, two coordinators, two
 * CNFs of two pods and of one, with agents and OpenWRTs as real processes, and a steady stream of
 * changes.
 */
import type { Cluster } from 'kind-test-harness';
import { createKubeClient, type KubeClient } from '#shared/kube/client.ts';
import { loadKubeConfig } from '#shared/kube/config.ts';
import type { Random } from '../run/random.ts';
import { createCnf } from '../stack/cnf.ts';
import { installProduct } from '../stack/install.ts';
import { SYSTEM_NAMESPACE } from '../stack/installation.ts';
import { observePods } from '../stack/observe.ts';
import { startStackCluster } from '../stack/start.ts';
import { createChecks, type Checks } from './checks/checks.ts';
import { createSurroundings, type Surroundings, type SurroundingsOptions } from './surroundings.ts';
import { createTraffic, type Traffic } from './traffic.ts';
import { vocabulary } from './vocabulary.ts';

export const CNFS = [
  { purpose: 'cnf-1', replicas: 2 },
  { purpose: 'cnf-2', replicas: 1 },
] as const;

/** Who confirms before the firewall was reloaded is seen to be early by this much. */
const RELOAD_MS = 200;

/** Programs of the product, and the one that stands for OpenWRT. */
export type Program = 'agent' | 'coordinator' | 'openwrt';
export type Target = { namespace: string; pod: string; container: string };

export type Fixture = {
  cluster: Cluster;
  namespace: string;
  client: KubeClient;
  traffic: Traffic;
  checks: Checks;
  surroundings: Surroundings;
  /** Containers that run the program, of pods that are there now. */
  targets: (program: Program) => Promise<Target[]>;
  stop: () => Promise<void>;
};

export const startFixture = async (
  random: Random,
  options: SurroundingsOptions = {},
): Promise<Fixture> => {
  const cluster = await startStackCluster({ backend: 'process' });
  const client = createKubeClient({
    config: await loadKubeConfig({ kubeconfig: cluster.kubeconfig }),
  });
  const surroundings = await createSurroundings(cluster, options);
  await installProduct(cluster);
  const namespace = await cluster.createNamespace('faults');
  const checks = await createChecks(cluster, { namespace, cnfs: CNFS, vocabulary });
  // One after the other: they share what they need in the namespace, and of two `kubectl apply` at
  // once one finds it there already.
  for (const cnf of CNFS) await createCnf(cluster, { namespace, ...cnf, reloadMs: RELOAD_MS });
  const purposes = CNFS.map(({ purpose }) => purpose);
  return {
    cluster,
    namespace,
    client,
    checks,
    surroundings,
    traffic: createTraffic({ client, namespace, purposes, random }),
    targets: async (program) => {
      if (program === 'coordinator') return coordinators(cluster);
      const container = program === 'agent' ? 'sdewan-agent' : 'sdewan';
      const pods = await Promise.all(
        purposes.map((purpose) => observePods(cluster, namespace, purpose)),
      );
      return pods.flat().map(({ name: pod }) => ({ namespace, pod, container }));
    },
    stop: async () => {
      checks.close();
      await client.close();
      await cluster.stop();
      await surroundings.stop();
    },
  };
};

const coordinators = async ({ api }: Cluster): Promise<Target[]> => {
  const path = `/api/v1/namespaces/${SYSTEM_NAMESPACE}/pods?labelSelector=app%3Dsdewan-coordinator`;
  const found = await api.find<{ items: { metadata: { name: string } }[] }>(path);
  return (found?.items ?? []).map(({ metadata }) => ({
    namespace: SYSTEM_NAMESPACE,
    pod: metadata.name,
    container: 'coordinator',
  }));
};
