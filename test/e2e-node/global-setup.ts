/** One real node and one installation of the product for all files, those of test/e2e too. */
import { installProduct } from '../stack/install.ts';
import { startStackCluster } from '../stack/start.ts';
import { figure } from './figures.ts';

export const setup = async (): Promise<() => Promise<void>> => {
  const cluster = await startStackCluster({ backend: 'node', say: console.log });
  Object.assign(process.env, cluster.env);
  const startedAt = Date.now();
  await installProduct(cluster);
  figure('kubectl apply -k deploy until the coordinator serves', Date.now() - startedAt);
  return cluster.stop;
};
