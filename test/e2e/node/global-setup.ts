/** One real node and one installation of the product for all projects of a run on it. */
import { CLUSTER_VARIABLE } from 'kind-test-harness';
import { installProduct } from '../../stack/install.ts';
import { startStackCluster } from '../../stack/start.ts';
import { figure } from './figures.ts';
import { buildMultus } from './multus.ts';

/** The first project's setup starts it; the others find it in the environment. */
export const setup = async (): Promise<(() => Promise<void>) | undefined> => {
  if (process.env[CLUSTER_VARIABLE] !== undefined) return undefined;
  // Beside tests, its build would take the time in which a pod is to be ready.
  await buildMultus();
  const cluster = await startStackCluster({ backend: 'node', say: console.log });
  Object.assign(process.env, cluster.env);
  const startedAt = Date.now();
  await installProduct(cluster);
  figure('kubectl apply -k deploy until the coordinator serves', Date.now() - startedAt);
  return cluster.stop;
};
