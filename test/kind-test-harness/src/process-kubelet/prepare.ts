/**
 * Everything that a container's process needs before it starts: its root folder, environment,
 * command line and ports.
 */
import { mkdir } from 'node:fs/promises';
import { join } from 'node:path';

import type { Container, Pod, VolumeMount } from '../kube/objects.ts';
import type { ImageProcess } from '../types.ts';
import { buildRoot, type RootMount } from './container-root.ts';
import {
  buildEnvironment,
  ContainerConfigError,
  expandVariables,
  type ObjectSources,
  type PodFacts,
} from './environment.ts';
import { rewriteLoopbackUrls, type PortMap } from './loopback.ts';
import { rewritePaths, type Mounts } from './mounts.ts';
import type { Services } from './services.ts';
import type { PodVolumes } from './volumes.ts';

export type PrepareInput = {
  pod: Pod;
  container: Container;
  image: ImageProcess;
  /** The container's own folder. */
  directory: string;
  volumes: PodVolumes;
  facts: PodFacts;
  sources: ObjectSources;
  /** Ports of all containers of the pod, as they are on this machine. */
  ports: PortMap;
  services: Services;
};

export type Prepared = {
  command: readonly string[];
  env: Record<string, string>;
  workingDirectory: string;
  mounts: Mounts;
};

/** @throws ContainerConfigError when something that the spec names isn't there. */
export const prepareContainer = async (input: PrepareInput): Promise<Prepared> => {
  const { pod, container, image, facts, ports } = input;
  const own = await buildEnvironment(pod, container, facts, input.sources);
  const mounts: Mounts = {
    root: join(input.directory, 'root'),
    mountPaths: [
      ...(container.volumeMounts ?? []).map(({ mountPath }) => trimSlash(mountPath)),
      ...(image.directories ?? []),
    ],
  };
  await buildRoot(mounts.root, await findSources(input, own));

  const localize = (text: string) =>
    input.services.rewriteUrls(rewriteLoopbackUrls(rewritePaths(text, mounts), facts.podIP, ports));
  const named = { ...image.env, ...own };
  const env = {
    PATH: process.env['PATH'] ?? '/usr/bin:/bin',
    HOME: join(mounts.root, 'root'),
    TMPDIR: join(mounts.root, 'tmp'),
    HOSTNAME: pod.metadata.name,
    KTH_POD_IP: facts.podIP,
    KTH_ROOT: mounts.root,
    ...Object.fromEntries(
      Object.entries(image.ports ?? {}).map(([port, local]) => [`PORT_${port}`, String(local)]),
    ),
    ...Object.fromEntries(Object.entries(named).map(([name, value]) => [name, localize(value)])),
  };
  const workingDirectory = join(mounts.root, container.workingDir ?? '/');
  await mkdir(workingDirectory, { recursive: true });
  return {
    command: commandOf(input, (arg) => localize(expandVariables(arg, own))),
    env,
    workingDirectory,
    mounts,
  };
};

/** As a plain init container does, and the program of an image that is a service never. */
const ENDS = ['/bin/sh', '-c', ':'];

const commandOf = (
  { pod, container, image }: PrepareInput,
  localize: (arg: string) => string,
): string[] => {
  const { command, args = [] } = container;
  const program = image.programs?.[command?.join(' ') ?? ''];
  // With a command of its own that is not registered, the spec's arguments are for that command,
  // which isn't run here.
  if (command && !program) return runsToItsEnd(pod, container) ? [...ENDS] : [...image.command];
  return [...(program ?? image.command), ...args.map(localize)];
};

const runsToItsEnd = ({ spec: { initContainers = [] } }: Pod, { name }: Container): boolean =>
  initContainers.some((init) => init.name === name && init.restartPolicy !== 'Always');

const trimSlash = (path: string): string => (path.length > 1 ? path.replace(/\/$/, '') : path);

const findSources = async (
  { pod, container, volumes }: PrepareInput,
  env: Readonly<Record<string, string>>,
): Promise<RootMount[]> =>
  await Promise.all(
    (container.volumeMounts ?? []).map(async (mount) => {
      const volume = pod.spec.volumes?.find(({ name }) => name === mount.name);
      if (!volume) throw new ContainerConfigError(`volume "${mount.name}" not found`);
      const subPath = subPathOf(mount, env);
      const isGenerated = volumes.isGenerated(volume);
      const source = join(volumes.path(volume), subPath);
      // As kubelets do: a part of a writable volume that isn't there becomes a folder.
      if (subPath && !isGenerated) await mkdir(source, { recursive: true }).catch(() => {});
      return { mountPath: trimSlash(mount.mountPath), source, copy: isGenerated && subPath !== '' };
    }),
  );

const subPathOf = (mount: VolumeMount, env: Readonly<Record<string, string>>): string => {
  const subPath = mount.subPath ?? expandVariables(mount.subPathExpr ?? '', env);
  if (subPath.startsWith('/') || subPath.split('/').includes('..')) {
    throw new ContainerConfigError(`subPath "${subPath}" must not leave its volume`);
  }
  return subPath;
};
