/**
 * Running containers, found in what containerd keeps of them: faster than asking the API server,
 * and never behind.
 */
import { readdir, readFile } from 'node:fs/promises';
import { join } from 'node:path';

import type { ContainerTarget, PodTarget } from '../types.ts';
import { CONTAINERD_STATE } from './files.ts';

/** One folder per running container or sandbox, with the specification that runc got. */
const BUNDLES = join(CONTAINERD_STATE, 'io.containerd.runtime.v2.task/k8s.io');
const ANNOTATION = 'io.kubernetes.cri.';

export type RunningContainer = {
  /** The id of its first process, as the node sees it. */
  pid: number;
  /** That process's /proc folder, as this machine sees it. */
  proc: string;
};

/** @throws when no such container runs. */
export const findContainer = async (
  initPid: number,
  { namespace, pod, container }: ContainerTarget,
): Promise<RunningContainer> =>
  await find(initPid, `container ${namespace}/${pod}/${container}`, {
    'container-type': 'container',
    'container-name': container,
    'sandbox-name': pod,
    'sandbox-namespace': namespace,
  });

/** The container that holds the pod's network. @throws when the pod does not run. */
export const findSandbox = async (
  initPid: number,
  { namespace, pod }: PodTarget,
): Promise<RunningContainer> =>
  await find(initPid, `pod ${namespace}/${pod}`, {
    'container-type': 'sandbox',
    'sandbox-name': pod,
    'sandbox-namespace': namespace,
  });

const find = async (
  initPid: number,
  name: string,
  wanted: Readonly<Record<string, string>>,
): Promise<RunningContainer> => {
  const root = `/proc/${initPid}/root`;
  const bundles = join(root, BUNDLES);
  for (const id of await readdir(bundles)) {
    const annotations = await readAnnotations(join(bundles, id));
    const fits = Object.entries(wanted).every(
      ([key, value]) => annotations[ANNOTATION + key] === value,
    );
    if (!fits) continue;
    const pid = Number(await readFile(join(bundles, id, 'init.pid'), 'utf8').catch(() => ''));
    const proc = join(root, 'proc', String(pid));
    if (pid > 0 && (await isRunning(proc))) return { pid, proc };
  }
  throw new Error(`${name} does not run`);
};

/** Empty for a container that has just gone. */
const readAnnotations = async (bundle: string): Promise<Record<string, string>> => {
  const text = await readFile(join(bundle, 'config.json'), 'utf8').catch(() => '{}');
  const { annotations = {} }: { annotations?: Record<string, string> } = JSON.parse(text || '{}');
  return annotations;
};

const isRunning = async (proc: string): Promise<boolean> => {
  const status = await readFile(join(proc, 'status'), 'utf8').catch(() => '');
  return status !== '' && !/^State:\s+[ZX]/m.test(status);
};
