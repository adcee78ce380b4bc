/** One control plane with two nodes and the product, and the image of the container that stands for traffic. */
import path from 'node:path';
import { installProduct } from '../stack/install.ts';
import { COMPILE_CACHE } from '../stack/compile-cache.ts';
import { parseBackend, startStackCluster } from '../stack/start.ts';
import { TRAFFIC_IMAGE } from './cnf.ts';

export const setup = async (): Promise<() => Promise<void>> => {
  const cluster = await startStackCluster({ backend: parseBackend(), say: console.log, nodes: 2 });
  Object.assign(process.env, cluster.env);
  const server = path.join(import.meta.dirname, 'traffic-server.ts');
  cluster.registerImages({
    [TRAFFIC_IMAGE]: { command: [process.execPath, server], env: COMPILE_CACHE },
  });
  await installProduct(cluster);
  return cluster.stop;
};
