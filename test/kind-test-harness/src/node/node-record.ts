/** What a node writes down beside the cluster's record, for programs that reach into it. */
import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';

import type { Snapshotter } from './configs.ts';
import type { Daemon } from './daemons.ts';
import type { Subnets } from './subnets.ts';

export type NodeRecord = {
  initPid: number;
  runDirectory: string;
  subnets: Subnets;
  snapshotter: Snapshotter;
  daemons: { containerd: Daemon; kubelet: Daemon };
};

export const nodeRecordFile = (clusterDirectory: string): string =>
  join(clusterDirectory, 'node.json');

export const writeNodeRecord = async (
  clusterDirectory: string,
  { initPid, runDirectory, subnets, snapshotter, daemons }: NodeRecord,
): Promise<void> => {
  const { containerd, kubelet } = daemons;
  const record = { initPid, runDirectory, subnets, snapshotter, daemons: { containerd, kubelet } };
  await writeFile(nodeRecordFile(clusterDirectory), JSON.stringify(record, undefined, 2));
};
