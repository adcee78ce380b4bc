/** The dashboard of a coordinator that runs. */
import type { Cluster } from 'kind-test-harness';
import { coordinatorReady } from './faults.ts';
import { listOf, renderWith, SYSTEM_NAMESPACE } from './installation.ts';

const PORT = 8_444;

const DEPLOYMENT = ['deployment/sdewan-coordinator', '-n', SYSTEM_NAMESPACE];

/** The coordinators may not be ready yet. Gives how to turn it off, after which they are. */
export const turnOnDashboard = async (cluster: Cluster): Promise<() => Promise<void>> => {
  const all = await renderWith(cluster, ['dashboard']);
  const component = listOf(
    all.filter(({ metadata: { name } }) => name.startsWith('sdewan-dashboard')),
  );
  await cluster.kubectl(['apply', '-f', '-'], { stdin: component });
  const container = {
    name: 'coordinator',
    ports: [{ name: 'dashboard', containerPort: PORT }],
    env: [{ name: 'SDEWAN_DASHBOARD_URL', value: `http://127.0.0.1:${PORT}` }],
  };
  const patch = JSON.stringify({ spec: { template: { spec: { containers: [container] } } } });
  await cluster.kubectl(['patch', ...DEPLOYMENT, '-p', patch]);
  return async () => {
    await cluster.kubectl(['rollout', 'undo', ...DEPLOYMENT]);
    await coordinatorReady(cluster);
    await cluster.kubectl(['delete', '-f', '-'], { stdin: component });
  };
};

/** As the button of that page does. */
export const enterBy = (url: string): Promise<Response> => {
  const { origin, searchParams } = new URL(url);
  const body = new URLSearchParams(searchParams);
  return fetch(`${origin}/enter`, {
    method: 'POST',
    redirect: 'manual',
    headers: { origin },
    body,
  });
};

/** For as long as a test looks at it. */
export const withDashboard = async (cluster: Cluster, work: () => Promise<void>): Promise<void> => {
  const turnOff = await turnOnDashboard(cluster);
  try {
    await coordinatorReady(cluster);
    await work();
  } finally {
    await turnOff();
  }
};
