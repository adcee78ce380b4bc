/** Mounts the files of the agent's own login into the CNF's container, and takes them out again. */
import type { InjectOptions } from './options.ts';
import { CNF_FILES } from './own-login-files.ts';
import type { Container, PodSpec, Volume, VolumeMount } from './pod.ts';
import { OWN_LOGIN_VOLUME } from './volumes.ts';

const OFF =
  'set annotation sdewan.akraino.org/agent-own-login to "false" and name a login Secret instead';

/** Why the files cannot be put there, one line each. Expects a pod without our mounts. */
export const ownLoginProblems = (
  spec: PodSpec,
  options: Pick<InjectOptions, 'ownLogin' | 'openwrtContainer'>,
): string[] => {
  if (!options.ownLogin) return [];
  const container = openwrtOf(spec, options);
  if (container === undefined)
    return [
      `annotation sdewan.akraino.org/agent-openwrt-container: the pod has no container ${JSON.stringify(options.openwrtContainer)}`,
    ];
  return Object.keys(CNF_FILES).flatMap((path) =>
    (container.volumeMounts ?? [])
      .filter((mount) => isInTheWay(mount, path, spec.volumes ?? []))
      .map(
        ({ name, mountPath }) =>
          `container ${container.name} mounts volume ${name} at ${mountPath}, where the agent needs ${path} for its login: ${OFF}`,
      ),
  );
};

/** @throws never; a container that does not exist is reported by `ownLoginProblems` */
export const mountOwnLogin = (
  spec: PodSpec,
  options: Pick<InjectOptions, 'openwrtContainer'>,
): PodSpec => {
  const openwrt = openwrtOf(spec, options);
  const mounts = Object.entries(CNF_FILES).map(([mountPath, subPath]) => ({
    name: OWN_LOGIN_VOLUME,
    mountPath,
    subPath,
    readOnly: true,
  }));
  return {
    ...spec,
    containers: spec.containers.map((container) =>
      container === openwrt
        ? { ...container, volumeMounts: [...(container.volumeMounts ?? []), ...mounts] }
        : container,
    ),
  };
};

export const unmountOwnLogin = (container: Container): Container => {
  const { volumeMounts, ...rest } = container;
  const others = volumeMounts?.filter(({ name }) => name !== OWN_LOGIN_VOLUME);
  if (others === undefined || others.length === volumeMounts?.length) return container;
  return others.length > 0 ? { ...rest, volumeMounts: others } : rest;
};

const openwrtOf = (
  { containers }: PodSpec,
  { openwrtContainer }: Pick<InjectOptions, 'openwrtContainer'>,
): Container | undefined =>
  openwrtContainer === undefined
    ? containers[0]
    : containers.find(({ name }) => name === openwrtContainer);

/** The same place, or a folder above it in which no file can be made. */
const isInTheWay = (
  { name, mountPath, readOnly }: VolumeMount,
  path: string,
  volumes: readonly Volume[],
): boolean => {
  const at = mountPath.replace(/\/+$/, '');
  if (at === path) return true;
  if (!path.startsWith(`${at}/`)) return false;
  const source = volumes.find((volume) => volume.name === name) ?? {};
  return readOnly === true || READ_ONLY_SOURCES.some((kind) => Object.hasOwn(source, kind));
};

const READ_ONLY_SOURCES = ['configMap', 'secret', 'projected', 'downwardAPI', 'image'];
