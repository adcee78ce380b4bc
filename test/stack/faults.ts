/** Outages that tests cause: each gives back the function that ends it. */
import type { Cluster } from 'kind-test-harness';
import { observePods, until } from './observe.ts';

const SYSTEM = 'sdewan-system';
/** As deploy/ has them. */
const COORDINATORS = 2;

export type Restore = () => Promise<void>;

/** The coordinator is gone: no pod of it runs until restored. */
export const coordinatorDown = async (cluster: Cluster): Promise<Restore> => {
  const scale = (replicas: number) =>
    cluster.kubectl([
      'scale',
      '-n',
      SYSTEM,
      'deployment/sdewan-coordinator',
      `--replicas=${replicas}`,
    ]);
  await scale(0);
  await until('no coordinator pod', async () => {
    const { stdout } = await cluster.kubectl([
      'get',
      'pods',
      '-n',
      SYSTEM,
      '-l',
      'app=sdewan-coordinator',
      '-o',
      'name',
    ]);
    return stdout.trim() === '' ? true : undefined;
  });
  return async () => {
    await scale(COORDINATORS);
    await coordinatorReady(cluster);
  };
};

const CONFIGURATIONS = ['validatingwebhookconfiguration', 'mutatingwebhookconfiguration'];
/** Nothing listens there. */
const DEAD_PORT = 9;

/** The API server's reviews get no answer, while the coordinator goes on with everything else. */
export const webhooksDown = async (cluster: Cluster): Promise<Restore> => {
  const redirect = async (port: number): Promise<void> => {
    for (const configuration of CONFIGURATIONS) {
      const target = `${configuration}/sdewan-coordinator`;
      const names = ['get', target, '-o', 'jsonpath={.webhooks[*].name}'];
      const webhooks = (await cluster.kubectl(names)).stdout.split(' ');
      const patch = webhooks.map((_, index) => ({
        op: 'replace',
        path: `/webhooks/${index}/clientConfig/service/port`,
        value: port,
      }));
      await cluster.kubectl(['patch', target, '--type=json', '-p', JSON.stringify(patch)]);
    }
  };
  await redirect(DEAD_PORT);
  return () => redirect(8_443);
};

export const coordinatorReady = async (cluster: Cluster): Promise<void> => {
  await cluster.kubectl([
    'rollout',
    'status',
    '-n',
    SYSTEM,
    'deployment/sdewan-coordinator',
    '--timeout=500s',
  ]);
};

/**
 * The agents of these pods (default: all of the purpose) stand still: they neither watch, write nor
 * report.
 */
export const agentsDown = async (
  cluster: Cluster,
  namespace: string,
  purpose: string,
  pods?: readonly string[],
): Promise<Restore> => {
  const names = pods ?? (await observePods(cluster, namespace, purpose)).map(({ name }) => name);
  const signal = (name: NodeJS.Signals) =>
    Promise.all(
      names.map((pod) =>
        cluster.killContainer({ namespace, pod, container: 'sdewan-agent' }, name),
      ),
    );
  await signal('SIGSTOP');
  return async () => {
    await signal('SIGCONT');
  };
};

/** OpenWRT in this pod stands still: its readiness probe fails, and its agent gets no answers. */
export const cnfHangs = async (
  cluster: Cluster,
  namespace: string,
  pod: string,
): Promise<Restore> => {
  const target = { namespace, pod, container: 'sdewan' };
  await cluster.killContainer(target, 'SIGSTOP');
  return () => cluster.killContainer(target, 'SIGCONT');
};
