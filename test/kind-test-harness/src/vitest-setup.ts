/**
 * A vitest `globalSetup`: one cluster for all test files of a run, which join it with
 * `connectCluster()`.
 */
import { CLUSTER_VARIABLE } from './cluster.ts';
import { startCluster } from './start.ts';

/**
 * Starts a cluster, unless the environment already names one: that of another vitest project in the
 * same run, or one that a person keeps up (`npx kind-test-harness up`) to save its start.
 */
export const setup = async (): Promise<(() => Promise<void>) | undefined> => {
  if (process.env[CLUSTER_VARIABLE]) return undefined;
  const cluster = await startCluster();
  Object.assign(process.env, cluster.env);
  return async () => {
    delete process.env[CLUSTER_VARIABLE];
    await cluster.stop();
  };
};
