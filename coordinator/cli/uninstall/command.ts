/** The arguments of `sdewan uninstall`, and what is to be said around it. */
import { homedir } from 'node:os';
import { join } from 'node:path';
import { parseArgs } from 'node:util';
import * as z from 'zod';
import { createKubeClient, type KubeClient } from '#shared/kube/client.ts';
import { loadKubeConfig } from '#shared/kube/config.ts';
import { AGENT_CONTAINER, PURPOSE_LABEL } from '#shared/names.ts';
import { systemClock } from '#shared/runtime/clock.ts';
import { podResource } from '../../cnf/workload.ts';
import { EXIT, UsageError, type Command } from '../command.ts';
import { uninstall } from './uninstall.ts';

const optionsOf = (args: readonly string[]) => {
  const { values } = parseArgs({
    args: [...args],
    options: {
      yes: { type: 'boolean', default: false },
      force: { type: 'boolean', default: false },
      'keep-rules': { type: 'boolean', default: false },
      timeout: { type: 'string', default: '120' },
      kubeconfig: { type: 'string' },
    },
  });
  const timeoutMs = Number(values.timeout) * 1_000;
  if (!(timeoutMs >= 0)) throw new UsageError('--timeout must be a number of seconds');
  return { ...values, keepRules: values['keep-rules'], timeoutMs };
};

export const runUninstall: Command = async (args, { env, say }, signal) => {
  const { yes, force, keepRules, timeoutMs, kubeconfig } = optionsOf(args);
  const config = await loadKubeConfig({
    kubeconfig: kubeconfig ?? env['KUBECONFIG'] ?? join(homedir(), '.kube/config'),
  });
  if (!yes) {
    say(
      keepRules
        ? 'This removes the webhooks, policies, rights and the coordinator. Rules, CRDs and what is configured on CNFs stay, in'
        : 'This deletes every SD-EWAN rule, its configuration on every CNF, the CRDs, the coordinator and its namespace from',
    );
    say(`${config.server}. Add --yes to confirm.`);
    return EXIT.usage;
  }
  say(`uninstalling from ${config.server}`);
  const client = createKubeClient({ config, userAgent: 'sdewan-cli' });
  try {
    const deps = { client, clock: systemClock, say, signal };
    const done = await uninstall({ ...deps, force, keepRules, timeoutMs });
    if (!done) return EXIT.refused;
    for (const line of await leftOver(client, signal)) say(line);
    return EXIT.done;
  } finally {
    await client.close();
  }
};

const podSchema = z.looseObject({
  spec: z.looseObject({ initContainers: z.array(z.looseObject({ name: z.string() })).optional() }),
});

/** What only the owners of CNFs can do. */
const leftOver = async (client: KubeClient, signal: AbortSignal): Promise<string[]> => {
  const { items } = await client.list(podResource, { labelSelector: PURPOSE_LABEL, signal });
  const injected = items.filter((pod) =>
    podSchema.parse(pod).spec.initContainers?.some(({ name }) => name === AGENT_CONTAINER),
  );
  const places = [...new Set(injected.map(({ metadata }) => metadata.namespace))].sort();
  return places.length === 0
    ? ['done']
    : [
        `done; ${injected.length} pods still have the agent, which has nothing to do. To remove it:`,
        ...places.map(
          (name) => `  kubectl rollout restart -n ${name} deployment -l ${PURPOSE_LABEL}`,
        ),
      ];
};
