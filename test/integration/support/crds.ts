/** The CRDs, as an installation has them. Files that run at the same time may both apply them. */
import type { Cluster } from 'kind-test-harness';
import { crdList } from '../../stack/installation.ts';

export const applyCrds = async (cluster: Cluster): Promise<void> => {
  const apply = ['apply', '--server-side', '--force-conflicts', '-f', '-'];
  await cluster.kubectl(apply, { stdin: await crdList(cluster) });
  const wait = ['wait', '--for=condition=Established', '--timeout=500s', 'crd', '--all'];
  await cluster.kubectl(wait);
};
