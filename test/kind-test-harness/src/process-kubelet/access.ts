/**
 * Reaching into containers of the process kubelet from any process of this user, by what it leaves
 * in the pod's folder.
 */
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';

import type { NodeAccess } from '../backend.ts';
import { CONTAINER_MARK, isMarked, sendSignal } from '../processes.ts';
import type { ClusterRecord } from '../record.ts';
import { run } from '../run.ts';
import type { ContainerTarget } from '../types.ts';
import { rewritePaths, toLocalPath, type Mounts } from './mounts.ts';
import { BY_NAME } from './pod-links.ts';

const EXEC_TIMEOUT_MS = 60_000;

/** What the kubelet writes down about a container that runs. */
export type ContainerRecord = {
  containerId: string;
  pid: number;
  env: Record<string, string>;
  workingDirectory: string;
  mounts: Mounts;
};

export const containerRecordFile = (podDirectory: string, container: string): string =>
  join(podDirectory, 'containers', container, 'running.json');

export const processAccess = ({ directory }: ClusterRecord): NodeAccess => {
  const podDirectory = (namespace: string, pod: string) =>
    join(directory, 'pods', BY_NAME, namespace, pod);
  const findRunning = async (target: ContainerTarget): Promise<ContainerRecord> => {
    const name = `${target.namespace}/${target.pod}/${target.container}`;
    const path = containerRecordFile(podDirectory(target.namespace, target.pod), target.container);
    const text = await readFile(path, 'utf8').catch((cause: unknown) => {
      throw new Error(`container ${name} does not run`, { cause });
    });
    const record: ContainerRecord = JSON.parse(text);
    if (!(await isMarked(record.pid, CONTAINER_MARK, record.containerId))) {
      throw new Error(`container ${name} has just ended`);
    }
    return record;
  };

  return {
    podDirectory,
    killContainer: async (target, signal) => {
      const { pid } = await findRunning(target);
      sendSignal(pid, signal);
    },
    readFile: async (target, path) => {
      const { mounts } = await findRunning(target);
      return await readFile(toLocalPath(path, mounts), 'utf8');
    },
    exec: async (target, argv) => {
      const { env, workingDirectory, mounts } = await findRunning(target);
      return await run(
        argv.map((argument) => rewritePaths(argument, mounts)),
        { env, cwd: workingDirectory, timeoutMs: EXEC_TIMEOUT_MS },
      );
    },
    loadImages: async () => {},
  };
};
