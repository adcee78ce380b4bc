/**
 * One control plane and one installation of the product for all end-to-end tests; each test has
 * namespaces of its own.
 */
import { installProduct } from '../stack/install.ts';
import { parseBackend, startStackCluster } from '../stack/start.ts';

export const setup = async (): Promise<() => Promise<void>> => {
  const cluster = await startStackCluster({ backend: parseBackend(), say: console.log });
  Object.assign(process.env, cluster.env);
  await installProduct(cluster);
  return cluster.stop;
};
