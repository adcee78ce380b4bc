/** The CRDs, as an installation has them. Files that run at the same time may both apply them. */
import { join } from 'node:path';
import type { Cluster } from 'kind-test-harness';

const FOLDER = join(import.meta.dirname, '../../../deploy/crds');

export const applyCrds = async (cluster: Cluster): Promise<void> => {
  await cluster.kubectl(['apply', '--server-side', '--force-conflicts', '-k', FOLDER]);
  const wait = ['wait', '--for=condition=Established', '--timeout=30s', 'crd', '--all'];
  await cluster.kubectl(wait);
};
