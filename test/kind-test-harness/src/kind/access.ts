/** Reaching into the pods of a kind cluster, by kubectl and the container that is its node. */
import type { NodeAccess } from '../backend.ts';
import type { ClusterRecord } from '../record.ts';
import { run, type RunResult } from '../run.ts';
import type { ContainerTarget } from '../types.ts';
import { killCommand, loadCommand } from './commands.ts';

const TIMEOUT_MS = 120_000;

type PodStatus = {
  status: Partial<
    Record<
      'containerStatuses' | 'initContainerStatuses',
      { name: string; containerID?: string; state: { running?: unknown } }[]
    >
  >;
};

export const kindAccess = ({ id, kubeconfig, kubectlCommand }: ClusterRecord): NodeAccess => {
  const command = async (argv: readonly string[]): Promise<RunResult> =>
    await run(argv, { env: { ...process.env, KUBECONFIG: kubeconfig }, timeoutMs: TIMEOUT_MS });
  const must = async (argv: readonly string[]): Promise<string> => {
    const result = await command(argv);
    if (result.code !== 0) throw new Error(`${argv.join(' ')}: ${result.stderr.slice(-2000)}`);
    return result.stdout;
  };
  const exec = ({ namespace, pod, container }: ContainerTarget, argv: readonly string[]) => [
    ...kubectlCommand,
    'exec',
    `--namespace=${namespace}`,
    pod,
    `--container=${container}`,
    '--',
    ...argv,
  ];

  return {
    podDirectory: () => {
      throw new Error('pods on kind have no folder on this machine');
    },
    killContainer: async ({ namespace, pod, container }, signal) => {
      const get = ['get', 'pod', `--namespace=${namespace}`, pod, '--output=json'];
      const { status }: PodStatus = JSON.parse(await must([...kubectlCommand, ...get]));
      const statuses = [
        ...(status.containerStatuses ?? []),
        ...(status.initContainerStatuses ?? []),
      ];
      const found = statuses.find(({ name, state }) => name === container && state.running);
      if (!found?.containerID) {
        throw new Error(`container ${namespace}/${pod}/${container} does not run`);
      }
      await must(killCommand(id, found.containerID, signal));
    },
    readFile: async (target, path) => await must(exec(target, ['cat', path])),
    exec: async (target, argv) => await command(exec(target, argv)),
    loadImages: async (archives) => {
      for (const archive of archives) await must(loadCommand(id, archive));
    },
  };
};
