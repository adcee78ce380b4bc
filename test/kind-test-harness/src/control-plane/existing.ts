/** An existing cluster that a person points to by KUBECONFIG. */
import { delimiter, resolve } from 'node:path';

import { createKubeClient } from '../kube/client.ts';
import { readKubeconfig } from '../kube/kubeconfig.ts';
import { listRecords } from '../record.ts';

/** Tests install CRDs and delete namespaces: a cluster elsewhere must be meant. */
const ALLOW_REMOTE_VARIABLE = 'KIND_TEST_HARNESS_ALLOW_REMOTE';
const LOOPBACK = /^https?:\/\/(127\.|localhost[:/]|\[::1\])/;

export type ExistingCluster = { kubeconfig: string; server: string };

/**
 * The cluster of KUBECONFIG when it answers and may be used; says why when not. `~/.kube/config` is
 * never looked at.
 */
export const findExistingCluster = async (
  env: NodeJS.ProcessEnv,
  say: (line: string) => void,
): Promise<ExistingCluster | undefined> => {
  if (!env['KUBECONFIG']) return undefined;
  const kubeconfig = resolve(env['KUBECONFIG']);
  const unused = (why: string) => {
    say(`KUBECONFIG=${kubeconfig} is not used: ${why}`);
    return undefined;
  };
  if (kubeconfig.includes(delimiter)) return unused('it names several files');

  const own = (await listRecords()).find((record) => record.kubeconfig === kubeconfig);
  if (own) return unused('it is a cluster of another harness, which has its own node');

  try {
    const connection = await readKubeconfig(kubeconfig);
    const { server } = connection;
    if (!LOOPBACK.test(server) && env[ALLOW_REMOTE_VARIABLE] !== '1') {
      return unused(`${server} is not on this machine (${ALLOW_REMOTE_VARIABLE}=1 allows it)`);
    }
    const client = createKubeClient(connection);
    const isReady = await client.isReady();
    await client.close();
    return isReady ? { kubeconfig, server } : unused(`${server} does not answer /readyz with ok`);
  } catch (error) {
    return unused(error instanceof Error ? error.message : String(error));
  }
};
