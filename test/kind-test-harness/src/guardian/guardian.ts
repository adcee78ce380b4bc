/**
 * A program of its own that outlives the harness: when its standard input ends (because the harness
 * closed it, crashed or was killed), it kills every process of the cluster and removes the
 * cluster's folder. The orderly stop goes the same way, so the path after a crash is the one that
 * every run exercises.
 *
 * Arguments: cluster id, cluster folder.
 */
import { rm } from 'node:fs/promises';

import { CLUSTER_MARK, killMarked } from '../processes.ts';

const [id = '', directory = ''] = process.argv.slice(2);

// The terminal's Ctrl-C and a closing terminal are for the harness; this process must see the end
// of both.
for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const) process.on(signal, () => {});

process.stdin.resume();
process.stdin.on('error', () => {});
process.stdin.on('close', () => {
  void cleanUp();
});

const cleanUp = async (): Promise<void> => {
  await killMarked(CLUSTER_MARK, id);
  await rm(directory, { recursive: true, force: true, maxRetries: 5, retryDelay: 100 });
};
