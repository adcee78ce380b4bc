/** A cluster without the product: the chart installs it. */
import { startCluster } from 'kind-test-harness';
import { images } from '../../stack/images.ts';

export const setup = async (): Promise<() => Promise<void>> => {
  const cluster = await startCluster({ images: images(), onProgress: console.log });
  Object.assign(process.env, cluster.env);
  return cluster.stop;
};
