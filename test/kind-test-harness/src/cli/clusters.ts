/** The commands on clusters that run. */
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync } from 'node:fs';
import { resolve } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';

import { CLUSTER_VARIABLE } from '../cluster.ts';
import { sendSignal } from '../processes.ts';
import { formatSeconds } from '../progress.ts';
import type { ClusterRecord } from '../record.ts';
import { connectCluster } from '../start.ts';

const DOWN_TIMEOUT_MS = 60_000;
const POLL_MS = 50;

export const status = (records: readonly ClusterRecord[]): number => {
  if (records.length === 0) process.stdout.write('no cluster runs\n');
  for (const record of records) {
    const age = formatSeconds((Date.now() - Date.parse(record.startedAt)) / 1000);
    process.stdout.write(
      `${record.id}  ${record.backend}  ${record.server}  up for ${age}, started in ${record.ownerDirectory}\n` +
        `          KUBECONFIG=${record.kubeconfig}\n`,
    );
  }
  return 0;
};

/** Asks the owner to stop and waits until everything is gone. */
export const down = async (record: ClusterRecord): Promise<number> => {
  sendSignal(record.ownerPid, 'SIGTERM');
  const deadline = Date.now() + DOWN_TIMEOUT_MS;
  while (existsSync(record.directory)) {
    if (Date.now() > deadline) throw new Error(`${record.directory} is still there`);
    await sleep(POLL_MS);
  }
  process.stdout.write(`cluster ${record.id} is down\n`);
  return 0;
};

/** kubectl with this terminal; the result is its exit code. */
export const runKubectl = async (
  record: ClusterRecord,
  args: readonly string[],
): Promise<number> => {
  const [file = '', ...prefix] = record.kubectlCommand;
  const child = spawn(file, [...prefix, ...args], {
    env: { ...process.env, KUBECONFIG: record.kubeconfig },
    stdio: 'inherit',
  });
  // Ctrl-C is for kubectl, which gets it from the terminal too.
  process.on('SIGINT', () => {});
  const [code] = await once(child, 'exit');
  return typeof code === 'number' ? code : 1;
};

export const loadImages = async (
  record: ClusterRecord,
  files: readonly string[],
): Promise<number> => {
  const cluster = await connectCluster({ [CLUSTER_VARIABLE]: record.directory });
  await cluster.loadImages(files.map((file) => resolve(file)));
  return 0;
};
