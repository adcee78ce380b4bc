/**
 * `npm run dev`: the product on processes, with a CNF and the seed's rules. Save a file of agent/,
 * coordinator/ or shared/: what runs it starts anew in its pod. Their logs are shown until Ctrl-C.
 */
import { spawn } from 'node:child_process';
import { createInterface } from 'node:readline';
import type { Cluster } from 'kind-test-harness';
import { createCnf } from '../../stack/cnf.ts';
import { turnOnDashboard } from '../../stack/dashboard.ts';
import { coordinatorReady } from '../../stack/faults.ts';
import { installProduct } from '../../stack/install.ts';
import { applyManifest } from '../../stack/manifests.ts';
import { startStackCluster } from '../../stack/start.ts';
import { readableLog } from './readable-log.ts';

const PURPOSE = 'cnf-1';
const say = (line: string): void => console.log(line);

/** Resolves when the signal has ended it. */
const followLogs = async (
  { kubeconfig, kubectlCommand }: Cluster,
  signal: AbortSignal,
  ...which: readonly string[]
): Promise<void> => {
  const [program = '', ...leading] = kubectlCommand;
  const child = spawn(program, [...leading, 'logs', '--follow', '--prefix', '--tail=5', ...which], {
    env: { ...process.env, KUBECONFIG: kubeconfig },
    stdio: ['inherit', 'pipe', 'inherit'],
    signal,
  });
  createInterface({ input: child.stdout }).on('line', (line) => say(readableLog(line)));
  await new Promise<void>((resolve) => {
    child.once('error', () => resolve());
    child.once('exit', () => resolve());
  });
};

const main = async (signal: AbortSignal): Promise<void> => {
  const cluster = await startStackCluster({ backend: 'process', say, signal, watch: true });
  try {
    await installProduct(cluster, say);
    await turnOnDashboard(cluster);
    await coordinatorReady(cluster);
    const namespace = await cluster.createNamespace('dev');
    await createCnf(cluster, { namespace, purpose: PURPOSE, replicas: 2 });
    await applyManifest(cluster, namespace, 'seed-rules.yaml');
    say(`
Save a file: the agents or the coordinator start anew. Ctrl-C ends. In another terminal:
  export KUBECONFIG=${cluster.kubeconfig}
  npx kind-test-harness kubectl get sdewan -n ${namespace} -o wide --watch
  npx sdewan status -n ${namespace}
  npx sdewan dashboard
`);
    await Promise.all([
      followLogs(
        cluster,
        signal,
        '-n',
        namespace,
        '-l',
        `sdewanPurpose=${PURPOSE}`,
        '-c',
        'sdewan-agent',
      ),
      followLogs(cluster, signal, '-n', 'sdewan-system', '-l', 'app=sdewan-coordinator'),
    ]);
  } finally {
    await cluster.stop();
  }
};

const abort = new AbortController();
for (const name of ['SIGINT', 'SIGTERM'] as const) process.once(name, () => abort.abort());
try {
  await main(abort.signal);
} catch (error) {
  if (!abort.signal.aborted) throw error;
}
