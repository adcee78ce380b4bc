/**
 * Installs the product as an operator does, with `kubectl apply -k deploy`, and waits until it
 * serves.
 */
import type { Cluster } from 'kind-test-harness';
import { coordinatorReady } from './faults.ts';
import { DEPLOY } from './installation.ts';

export const installProduct = async (
  cluster: Cluster,
  say: (line: string) => void = () => {},
): Promise<void> => {
  await cluster.kubectl(['apply', '-k', DEPLOY]);
  say('applied deploy/');
  await cluster.kubectl(['wait', '--for=condition=Established', 'crd', '--all', '--timeout=500s']);
  await coordinatorReady(cluster);
  const published = '--for=jsonpath={.webhooks[0].clientConfig.caBundle}';
  for (const kind of ['mutating', 'validating'])
    await cluster.kubectl([
      'wait',
      `${kind}webhookconfiguration/sdewan-coordinator`,
      published,
      '--timeout=500s',
    ]);
  say('the coordinator serves');
};
