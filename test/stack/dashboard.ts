/** The dashboard of a coordinator that runs, for as long as a test looks at it. */
import type { Cluster } from 'kind-test-harness';
import { coordinatorReady } from './faults.ts';
import { listOf, renderWith, SYSTEM_NAMESPACE } from './installation.ts';

const PORT = 8_444;

export const withDashboard = async (cluster: Cluster, work: () => Promise<void>): Promise<void> => {
  const deployment = ['deployment/sdewan-coordinator', '-n', SYSTEM_NAMESPACE];
  const component = (await renderWith(cluster, ['dashboard'])).filter(({ metadata: { name } }) =>
    name.startsWith('sdewan-dashboard'),
  );
  await cluster.kubectl(['apply', '-f', '-'], { stdin: listOf(component) });
  const container = {
    name: 'coordinator',
    ports: [{ name: 'dashboard', containerPort: PORT }],
    env: [{ name: 'SDEWAN_DASHBOARD_URL', value: `http://127.0.0.1:${PORT}` }],
  };
  const patch = JSON.stringify({ spec: { template: { spec: { containers: [container] } } } });
  await cluster.kubectl(['patch', ...deployment, '-p', patch]);
  try {
    await coordinatorReady(cluster);
    await work();
  } finally {
    await cluster.kubectl(['rollout', 'undo', ...deployment]);
    await coordinatorReady(cluster);
    await cluster.kubectl(['delete', '-f', '-'], { stdin: listOf(component) });
  }
};
