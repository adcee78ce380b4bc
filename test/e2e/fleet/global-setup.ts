/**
 * One control plane with two nodes and the product, and the image of the container that stands for
 * traffic.
 */
import { installProduct } from '../../stack/install.ts';
import { parseBackend, startStackCluster } from '../../stack/start.ts';
import { TRAFFIC_IMAGE } from './cnf.ts';
import { trafficImage } from './traffic-image.ts';

export const setup = async (): Promise<() => Promise<void>> => {
  const cluster = await startStackCluster({ backend: parseBackend(), say: console.log, nodes: 2 });
  Object.assign(process.env, cluster.env);
  cluster.registerImages({ [TRAFFIC_IMAGE]: trafficImage });
  await installProduct(cluster);
  return cluster.stop;
};
