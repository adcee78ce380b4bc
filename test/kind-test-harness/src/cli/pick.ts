/** Which of the running clusters a command is about. */
import { CLUSTER_VARIABLE } from '../cluster.ts';
import type { ClusterRecord } from '../record.ts';

export type Wish = {
  id?: string | undefined;
  env: NodeJS.ProcessEnv;
  /** Where the command was given. */
  directory: string;
  /** Several candidates are an error, rather than the one started last. */
  mustBeOnly: boolean;
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

  const own = records.filter(({ ownerDirectory }) => ownerDirectory === wish.directory);
  const candidates = own.length > 0 ? own : records;
  const last = candidates.at(-1);
  if (!last) throw new Error('no cluster runs: start one with `kind-test-harness up`');
  if (candidates.length > 1 && (wish.mustBeOnly || own.length === 0)) {
    throw new Error(`which cluster?${listOf(candidates)}`);
  }
  return last;
};

const listOf = (records: readonly ClusterRecord[]): string =>
  records.map(({ id, ownerDirectory }) => `\n  ${id}  started in ${ownerDirectory}`).join('');
