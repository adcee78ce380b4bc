/**
 * `npm run demo`: the main job, visibly, on a real Kubernetes control plane with CNF pods that run
 * here as processes (or on a real node). Ends with exit code 0 only if every step was seen true in
 * the CNFs' own configuration files.
 */
import { parseArgs } from 'node:util';
import { createCnf } from '../../stack/cnf.ts';
import { installProduct } from '../../stack/install.ts';
import { applyManifest } from '../../stack/manifests.ts';
import { parseBackend, startStackCluster } from '../../stack/start.ts';
import {
  deleteRule,
  PURPOSE,
  resetOneCnf,
  scaleTo,
  untilInSync,
  type Scenario,
} from './scenario.ts';
import { createScreen, type Screen } from './screen.ts';

const { values: options } = parseArgs({
  options: {
    on: { type: 'string', default: 'process' },
    driver: { type: 'string', default: 'ubus' },
    once: { type: 'boolean', default: false },
    help: { type: 'boolean', default: false },
  },
});

const USAGE = `npm run demo [-- --on process|node|kind] [--driver ubus|icn] [--once]
  --on     what runs the pods: local processes (default), a real node (root on Linux), kind (Docker)
  --driver which API of OpenWRT the agents use: ubus (default), or icn, the REST API of ICN's image
  --once   end after the last step instead of leaving the cluster up (also without a terminal)`;

/** A slow CNF: a status that is too early shows. */
const RELOAD_MS = 2_000;
const cnfOptions = options.driver === 'icn' ? ({ driver: 'icn' } as const) : {};

const main = async (signal: AbortSignal): Promise<void> => {
  const screen = createScreen(process.stdout);
  const cluster = await screen.step('A real Kubernetes control plane', () =>
    startStackCluster({ backend: parseBackend(options.on), say: screen.say, signal }),
  );
  try {
    await screen.step('Install: CRDs, RBAC, the coordinator', () =>
      installProduct(cluster, screen.say),
    );
    const namespace = await cluster.createNamespace('demo');
    const scenario: Scenario = { screen, cluster, namespace };
    await screen.step(
      `A CNF with two replicas (Deployment ${PURPOSE}), the agent beside each; a reload takes it 2 s`,
      () =>
        createCnf(cluster, {
          ...cnfOptions,
          namespace,
          purpose: PURPOSE,
          replicas: 2,
          reloadMs: RELOAD_MS,
        }),
    );
    await screen.step('Eight rules of seven kinds, applied with kubectl', async () => {
      await applyManifest(cluster, namespace, 'seed-rules.yaml');
      await untilInSync(scenario, 2);
    });
    await screen.step('kubectl scale to three replicas: the new pod configures itself', () =>
      scaleTo(scenario, 3),
    );
    await screen.step('One CNF loses its configuration: healed by its agent', () =>
      resetOneCnf(scenario),
    );
    await screen.step('A rule is deleted: gone from every CNF first, then from Kubernetes', () =>
      deleteRule(scenario),
    );
    summary(screen);
    if (!options.once && process.stdout.isTTY) await leaveUp(cluster.kubeconfig, namespace, signal);
  } finally {
    await cluster.stop();
  }
};

const summary = (screen: Screen): void => {
  process.stdout.write('\nEvery step was seen in the CNFs’ own files and journals.\n');
  for (const [index, { title, seconds }] of screen.times.entries()) {
    process.stdout.write(
      `${String(index + 1).padStart(3)}  ${seconds.toFixed(1).padStart(6)} s  ${title}\n`,
    );
  }
};

const leaveUp = async (
  kubeconfig: string,
  namespace: string,
  signal: AbortSignal,
): Promise<void> => {
  process.stdout.write(`
The cluster stays up until Ctrl-C. In another terminal:
  export KUBECONFIG=${kubeconfig}
  npx kind-test-harness kubectl get sdewan -n ${namespace} -o wide
  npx kind-test-harness kubectl get pods -n ${namespace}
`);
  await new Promise<void>((resolve) => {
    signal.addEventListener('abort', () => resolve(), { once: true });
  });
};

if (options.help || !['ubus', 'icn'].includes(options.driver)) {
  process.stdout.write(`${USAGE}\n`);
} else {
  const abort = new AbortController();
  for (const name of ['SIGINT', 'SIGTERM'] as const) process.once(name, () => abort.abort());
  main(abort.signal).catch((error: unknown) => {
    process.stderr.write(
      `\nThe demo failed: ${error instanceof Error ? (error.stack ?? error.message) : String(error)}\n`,
    );
    process.exitCode = 1;
  });
}
