/**
 * Set up before each test file: a worker of vitest has a cluster of its own, so that files which
 * look at all namespaces, or change what is there once, run at the same time. The first worker has
 * that of the run; the others start theirs with their first file.
 */
import { CLUSTER_VARIABLE, startCluster } from 'kind-test-harness';

/** What tells a worker apart, from 1 on. Files of one worker share its environment. */
const WORKER_VARIABLE = 'VITEST_POOL_ID';
const OWN_VARIABLE = 'SDEWAN_TEST_OWN_CLUSTER';

if (process.env[WORKER_VARIABLE] !== '1' && process.env[OWN_VARIABLE] === undefined) {
  // It ends with the worker. What has to be built is built and reported by the cluster of the run.
  const { env } = await startCluster({ onProgress: () => undefined });
  process.env[OWN_VARIABLE] = env[CLUSTER_VARIABLE];
  Object.assign(process.env, env);
}
