/**
 * The memory limit of the coordinator's container, enforced by the kernel: a process that comes to
 * it is killed. Needs root and a control group (v1 or v2) that can be written; elsewhere attacks
 * only measure, and say so.
 */
import { existsSync } from 'node:fs';
import { mkdir, readFile, rmdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { connectCluster } from 'kind-test-harness';
import { installedObjects } from '../stack/installation.ts';

export type ControlGroup = {
  /** The command that runs this one under the limit, from its first page on. */
  inside: (command: readonly string[]) => string[];
  /** Processes that the kernel has killed since they came to the limit. */
  kills: () => Promise<number>;
  /** When nothing runs in it any more. @throws when the kernel has killed anything */
  end: () => Promise<void>;
};

/** Files of the two versions of control groups. Swap is part of the limit, as in Kubernetes. */
const VERSIONS = [
  {
    root: '/sys/fs/cgroup/memory',
    limits: ['memory.limit_in_bytes', 'memory.memsw.limit_in_bytes'],
    swapless: [],
    events: 'memory.oom_control',
  },
  {
    root: '/sys/fs/cgroup',
    limits: ['memory.max'],
    swapless: ['memory.swap.max'],
    events: 'memory.events',
  },
] as const;

const ENTER = 'echo $$ > "$0/cgroup.procs" && exec "$@"';

/** In bytes, from the manifests. */
const limitOfManifest = async (): Promise<number> => {
  const deployments = (await installedObjects(await connectCluster())).filter(
    ({ kind }) => kind === 'Deployment',
  );
  const mebibytes = /"limits":\{"memory":"(\d+)Mi"\}/.exec(JSON.stringify(deployments))?.[1];
  if (mebibytes === undefined) throw new Error('the Deployment has no memory limit in MiB');
  return Number(mebibytes) * 1_048_576;
};

/** What the coordinator's Deployment tells Node of memory. */
export const nodeOptions = async (): Promise<string> => {
  const objects = await installedObjects(await connectCluster());
  return /"NODE_OPTIONS","value":"([^"]+)"/.exec(JSON.stringify(objects))?.[1] ?? '';
};

/**
 * Undefined where there is none, which the output says. `bytes`: by default the coordinator's
 * limit.
 */
export const createControlGroup = async (bytes?: number): Promise<ControlGroup | undefined> => {
  const limit = bytes ?? (await limitOfManifest());
  for (const version of VERSIONS) {
    const group = join(version.root, `sdewan-attack-${process.pid}-${(made += 1)}`);
    try {
      if (!existsSync(join(version.root, 'cgroup.procs'))) continue;
      await mkdir(group);
      for (const file of version.limits) await writeFile(join(group, file), String(limit));
      for (const file of version.swapless) await writeFile(join(group, file), '0');
    } catch (error) {
      console.log(`${version.root} can't be used: ${String(error)}`);
      await rmdir(group).catch(() => undefined);
      continue;
    }
    console.log(`memory limit of ${limit / 1_048_576} MiB enforced by ${group}`);
    const killsOf = async (): Promise<number> => {
      const events = await readFile(join(group, version.events), 'utf8');
      return Number(/^oom_kill (\d+)/m.exec(events)?.[1] ?? 0);
    };
    return {
      inside: (command) => ['/bin/sh', '-c', ENTER, group, ...command],
      kills: killsOf,
      end: async () => {
        const kills = await killsOf();
        await rmdir(group);
        if (kills > 0) throw new Error(`the kernel killed ${kills} processes at the memory limit`);
      },
    };
  }
  console.log('memory limit not enforced: no control group can be made here, it needs root');
  return undefined;
};

let made = 0;
