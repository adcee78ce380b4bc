/** The container that stands for traffic, as a process. */
import path from 'node:path';
import type { ImageProcess } from 'kind-test-harness';
import { COMPILE_CACHE } from '../../stack/compile-cache.ts';

export const trafficImage: ImageProcess = {
  command: [process.execPath, path.join(import.meta.dirname, 'traffic-server.ts')],
  env: COMPILE_CACHE,
};
