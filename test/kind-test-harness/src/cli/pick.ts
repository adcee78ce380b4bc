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
  const meant = namedIn(wish.env, records);
  if (meant) return meant;

  const own = records.filter(({ ownerDirectory }) => ownerDirectory === wish.directory);
  const last = own.at(-1);
  if (last && (own.length === 1 || !wish.isForSure)) return last;
  const [only, ...others] = records;
  if (!only) throw new Error('no cluster runs: start one with `kind-test-harness up`');
  if (others.length > 0 || wish.isForSure) throw new Error(`which cluster?${listOf(records)}`);
  return only;
};

const namedIn = (
  { [CLUSTER_VARIABLE]: joined, KUBECONFIG: used }: NodeJS.ProcessEnv,
  records: readonly ClusterRecord[],
): ClusterRecord | undefined => {
  const named =
    records.find(({ directory }) => directory === joined) ??
    records.find(({ kubeconfig }) => kubeconfig === used);
  if (!named && used && !existsSync(used))
    throw new Error(`KUBECONFIG=${used} is not there: its cluster has ended${listOf(records)}`);
  return named;
};

const listOf = (records: readonly ClusterRecord[]): string =>
  records.map(({ id, ownerDirectory }) => `\n  ${id}  started in ${ownerDirectory}`).join('');
