/** What `sdewan uninstall` says around uninstalling. */
import * as z from 'zod';
import type { KubeClient } from '#shared/kube/client.ts';
import { find } from '#shared/kube/owned.ts';
import { AGENT_CONTAINER, PURPOSE_LABEL } from '#shared/names.ts';
import { systemClock } from '#shared/runtime/clock.ts';
import {
  controllerFactsOf,
  podResource,
  replicaSets,
  workloadResources,
  type OwnerRef,
} from '../../sources/workload.ts';
import { withCluster, type Cluster } from '../cluster/connect.ts';
import { EXIT, optionsBy, type CommandIo, type ExitCode, type Run } from '../command.ts';
import { uninstall } from './uninstall.ts';

const optionsSchema = z.object({
  yes: z.boolean().default(false),
  force: z.boolean().default(false),
  keepRules: z.boolean().default(false),
  keepNamespace: z.string().min(1).optional(),
  unlessRules: z.boolean().default(false),
  timeout: z.coerce.number({ error: '--timeout must be a number of seconds' }).min(0),
});

export const runUninstall: Run = async ({ options }, io, signal) => {
  const data = optionsBy(optionsSchema, options);
  return withCluster({ options, io, timeoutMs: REQUEST_TIMEOUT_MS }, (cluster) =>
    uninstallFrom(cluster, data, { say: io.say, signal }),
  );
};

/** Deletions of whole collections take the API server longer than a look. */
const REQUEST_TIMEOUT_MS = 15_000;

const uninstallFrom = async (
  { client, server }: Cluster,
  { yes, timeout, ...asked }: z.infer<typeof optionsSchema>,
  { say, signal }: Pick<CommandIo, 'say'> & { signal: AbortSignal },
): Promise<ExitCode> => {
  if (!yes) {
    say(
      asked.keepRules
        ? 'This removes the webhooks, policies, rights and the coordinator. Rules, CRDs and what is configured on CNFs stay, in'
        : 'This deletes every SD-EWAN rule, its configuration on every CNF, the CRDs, the coordinator and its namespace from',
    );
    say(`${server}. Add --yes to confirm.`);
    return EXIT.usage;
  }
  say(`uninstalling from ${server}`);
  const deps = { client, clock: systemClock, say, signal };
  const { keepNamespace } = asked;
  const isDone = await uninstall({
    ...deps,
    ...asked,
    keepNamespace,
    timeoutMs: timeout * 1_000,
  });
  if (!isDone) return EXIT.no;
  for (const line of await leftOver(client, signal)) say(line);
  return EXIT.done;
};

const podSchema = z.looseObject({
  spec: z.looseObject({ initContainers: z.array(z.looseObject({ name: z.string() })).optional() }),
});

/** As `kubectl rollout restart` takes it; undefined: it restarts none of that kind. */
const workloadOf = async (
  client: KubeClient,
  { namespace, controller }: { namespace: string | undefined; controller: OwnerRef },
  signal: AbortSignal,
): Promise<string | undefined> => {
  const { kind, name } = controller;
  const set =
    kind === replicaSets.kind
      ? await find(client, replicaSets, { namespace, name }, { signal })
      : undefined;
  const owner = set ? controllerFactsOf(set).controller : controller;
  return owner && workloadResources.some((resource) => resource.kind === owner.kind)
    ? `${owner.kind.toLowerCase()}/${owner.name}`
    : undefined;
};

/** What only the owners of CNFs can do. */
const leftOver = async (client: KubeClient, signal: AbortSignal): Promise<string[]> => {
  const { items } = await client.list(podResource, { labelSelector: PURPOSE_LABEL, signal });
  const injected = items.filter((pod) =>
    podSchema.parse(pod).spec.initContainers?.some(({ name }) => name === AGENT_CONTAINER),
  );
  if (injected.length === 0) return ['done'];
  const commands: string[] = [];
  // One of a workload's pods tells which it is.
  const sets = Map.groupBy(
    injected,
    (pod) => controllerFactsOf(pod).controller?.uid ?? pod.metadata.uid,
  );
  for (const pods of sets.values()) {
    const [first] = pods;
    const { controller } = first ? controllerFactsOf(first) : {};
    const namespace = first?.metadata.namespace;
    const workload = controller && (await workloadOf(client, { namespace, controller }, signal));
    commands.push(
      ...(workload
        ? [`rollout restart -n ${namespace} ${workload}`]
        : pods.map(({ metadata }) => `delete pod -n ${namespace} ${metadata.name}`)),
    );
  }
  return [
    `done; ${injected.length} pods still have the agent, which has nothing to do. To remove it:`,
    ...[...new Set(commands)].sort().map((command) => `  kubectl ${command}`),
  ];
};
