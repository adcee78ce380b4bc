/** A cluster without the product: the chart installs it. Its image of the coordinator holds the CLI, too, which Helm runs before an end. */
import { startCluster } from 'kind-test-harness';
import { COMPILE_CACHE } from '../stack/compile-cache.ts';
import { COORDINATOR_IMAGE, images } from '../stack/images.ts';
import { programFile } from '../stack/programs.ts';

const BOTH = new URL('../stack/coordinator-image.ts', import.meta.url).pathname;

export const setup = async (): Promise<() => Promise<void>> => {
  const coordinator = {
    command: [process.execPath, BOTH, programFile('coordinator')],
    env: COMPILE_CACHE,
  };
  const cluster = await startCluster({
    images: { ...images(), [COORDINATOR_IMAGE]: coordinator },
    onProgress: console.log,
  });
  Object.assign(process.env, cluster.env);
  return cluster.stop;
};
