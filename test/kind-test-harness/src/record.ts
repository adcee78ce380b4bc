/**
 * What a running cluster writes down about itself, for other processes: test workers that join it
 * and the CLI.
 */
import { readdir, readFile, rename, writeFile } from 'node:fs/promises';
import { join } from 'node:path';

import { clustersDirectory } from './paths.ts';
import { isAlive } from './processes.ts';
import type { Backend } from './types.ts';

const RECORD_FILE = 'cluster.json';

export type ClusterRecord = {
  id: string;
  directory: string;
  backend: Backend;
  kubeconfig: string;
  server: string;
  kubectlCommand: readonly string[];
  /** The process whose end is the cluster's end. */
  ownerPid: number;
  /** Where the owner was started: tells the clusters of two clones apart. */
  ownerDirectory: string;
  /** Where the control plane came from. */
  reason: string;
  /** RFC 3339. */
  startedAt: string;
};

export const writeRecord = async (record: ClusterRecord): Promise<void> => {
  const path = join(record.directory, RECORD_FILE);
  await writeFile(`${path}.new`, JSON.stringify(record, undefined, 2), { mode: 0o600 });
  await rename(`${path}.new`, path); // a reader never sees half of it
};

/** @throws when the folder holds no running cluster. */
export const readRecord = async (directory: string): Promise<ClusterRecord> => {
  const text = await readFile(join(directory, RECORD_FILE), 'utf8').catch((cause: unknown) => {
    throw new Error(`no cluster runs in ${directory}`, { cause });
  });
  const record: ClusterRecord = JSON.parse(text);
  return record;
};

/** This user's running clusters, oldest first. */
export const listRecords = async (): Promise<ClusterRecord[]> => {
  const directory = clustersDirectory();
  const ids = await readdir(directory).catch(() => []);
  const records = await Promise.all(
    ids.map(async (id) => await readRecord(join(directory, id)).catch(() => undefined)),
  );
  return records
    .filter((record) => record !== undefined)
    .filter((record) => isAlive(record.ownerPid))
    .sort((a, b) => a.startedAt.localeCompare(b.startedAt));
};
