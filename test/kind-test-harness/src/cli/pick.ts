/** Which of the running clusters a command is about. */
import { existsSync } from 'node:fs';
import { CLUSTER_VARIABLE } from '../cluster.ts';
import type { ClusterRecord } from '../record.ts';

export type Wish = {
  id?: string | undefined;
  env: NodeJS.ProcessEnv;
  /** Where the command was given. */
  directory: string;
  /** For what can't be undone: the only one of this folder or one that is named, never a guess. */
  isForSure: boolean;
};

/** `records` oldest first. @throws when none fits, or several do that shouldn't. */
export const pickCluster = (records: readonly ClusterRecord[], wish: Wish): ClusterRecord => {
  if (wish.id !== undefined) {
    const named = records.find(({ id }) => id === wish.id);
    if (!named) throw new Error(`no cluster ${wish.id} runs${listOf(records)}`);
    return named;
  }
  const joined = records.find(({ directory }) => directory === wish.env[CLUSTER_VARIABLE]);
  if (joined) return joined;
  const { KUBECONFIG: kubeconfig } = wish.env;
  const meant = records.find((record) => record.kubeconfig === kubeconfig);
  if (meant) return meant;
  if (kubeconfig && !existsSync(kubeconfig))
    throw new Error(
      `KUBECONFIG=${kubeconfig} is not there: its cluster has ended${listOf(records)}`,
    );

  const own = records.filter(({ ownerDirectory }) => ownerDirectory === wish.directory);
  const last = own.at(-1);
  if (last && (own.length === 1 || !wish.isForSure)) return last;
  const [only, ...others] = records;
  if (!only) throw new Error('no cluster runs: start one with `kind-test-harness up`');
  if (others.length > 0 || wish.isForSure) throw new Error(`which cluster?${listOf(records)}`);
  return only;
};

const listOf = (records: readonly ClusterRecord[]): string =>
  records.map(({ id, ownerDirectory }) => `\n  ${id}  started in ${ownerDirectory}`).join('');
