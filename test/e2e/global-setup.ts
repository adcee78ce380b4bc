/** One control plane and one installation of the product for all end-to-end tests; each test has namespaces of its own. */
import { startCluster } from 'kind-test-harness';
import { images } from '../stack/images.ts';
import { installProduct } from '../stack/install.ts';

export const setup = async (): Promise<() => Promise<void>> => {
  const cluster = await startCluster({ images: images() });
  Object.assign(process.env, cluster.env);
  await installProduct(cluster);
  return cluster.stop;
};
