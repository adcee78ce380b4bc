/**
 * The volumes of one pod: folders below its own, written as a kubelet writes them and rewritten
 * when their sources change.
 */
import { mkdir, stat } from 'node:fs/promises';
import { join } from 'node:path';

import type { DownwardApiItem, KeyToPath, Pod, ProjectedSource, Volume } from '../kube/objects.ts';
import {
  isSamePayload,
  writeAtomically,
  type FileContent,
  type Payload,
} from './atomic-directory.ts';
import { readField, type ObjectSources, type PodFacts } from './environment.ts';
import type { PodTokens } from './tokens.ts';

/** A volume can't be made from what there is now; the kubelet tries again. */
export class MountError extends Error {
  override name = 'MountError';
}

export type VolumeDeps = {
  /** Folder that gets a folder per volume. */
  directory: string;
  sources: ObjectSources;
  tokens: PodTokens;
  facts: PodFacts;
};

export type PodVolumes = {
  /** Makes what is missing and rewrites what has changed. @throws MountError naming the volume. */
  sync: (pod: Pod) => Promise<void>;
  /** The place of a volume on this machine. */
  path: (volume: Volume) => string;
  /** Whether the volume's content follows other objects (a mount of a part of it then doesn't). */
  isGenerated: (volume: Volume) => boolean;
};

const DEFAULT_MODE = 0o644;

export const createPodVolumes = (deps: VolumeDeps): PodVolumes => {
  const written = new Map<string, Payload>();
  let sequence = 0;
  const path = (volume: Volume) =>
    volume.hostPath ? volume.hostPath.path : join(deps.directory, volume.name);

  const syncVolume = async (pod: Pod, volume: Volume): Promise<void> => {
    if (volume.emptyDir) {
      await mkdir(path(volume), { recursive: true, mode: 0o777 });
      return;
    }
    if (volume.hostPath) {
      await stat(volume.hostPath.path); // what isn't there is not made: this is a person's machine
      return;
    }
    const payload = await collectPayload(pod, volume, deps);
    if (!payload) {
      const kind = Object.keys(volume).find((key) => key !== 'name') ?? 'unknown';
      throw new MountError(`this kubelet has no volumes of kind ${kind}`);
    }
    const before = written.get(volume.name);
    if (before && isSamePayload(before, payload)) return;
    sequence += 1;
    await writeAtomically(path(volume), payload, sequence);
    written.set(volume.name, payload);
  };

  return {
    path,
    isGenerated: (volume) => !volume.emptyDir && !volume.hostPath,
    sync: async (pod) => {
      for (const volume of pod.spec.volumes ?? []) {
        try {
          await syncVolume(pod, volume);
        } catch (cause) {
          const reason = cause instanceof Error ? cause.message : String(cause);
          throw new MountError(`MountVolume.SetUp failed for volume "${volume.name}" : ${reason}`, {
            cause,
          });
        }
      }
    },
  };
};

/** `undefined` for a kind of volume that isn't made of files from the API server. */
const collectPayload = async (
  pod: Pod,
  volume: Volume,
  deps: VolumeDeps,
): Promise<Payload | undefined> => {
  const { configMap, secret, downwardAPI, projected } = volume;
  if (configMap) {
    return await collectSources(pod, [{ configMap }], configMap.defaultMode, deps);
  }
  if (secret) {
    const source = { ...secret, name: secret.secretName };
    return await collectSources(pod, [{ secret: source }], secret.defaultMode, deps);
  }
  if (downwardAPI) {
    return await collectSources(pod, [{ downwardAPI }], downwardAPI.defaultMode, deps);
  }
  if (projected) {
    return await collectSources(pod, projected.sources ?? [], projected.defaultMode, deps);
  }
  return undefined;
};

const collectSources = async (
  pod: Pod,
  sources: readonly ProjectedSource[],
  mode: number = DEFAULT_MODE,
  deps: VolumeDeps,
): Promise<Payload> => {
  const files = new Map<string, FileContent>();
  for (const source of sources) {
    for (const [path, content] of await collectSource(pod, source, mode, deps)) {
      files.set(path, content);
    }
  }
  return files;
};

const collectSource = async (
  pod: Pod,
  source: ProjectedSource,
  mode: number,
  deps: VolumeDeps,
): Promise<Payload> => {
  const { configMap, secret, downwardAPI, serviceAccountToken } = source;
  if (configMap) {
    const found = await deps.sources.configMap(configMap.name);
    requireFound('configmap', found, configMap);
    const text = toBuffers(found?.data, 'utf8');
    const binary = toBuffers(found?.binaryData, 'base64');
    return pickKeys(new Map([...text, ...binary]), configMap, mode);
  }
  if (secret) {
    const found = await deps.sources.secret(secret.name);
    requireFound('secret', found, secret);
    return pickKeys(toBuffers(found?.data, 'base64'), secret, mode);
  }
  if (serviceAccountToken) {
    const data = Buffer.from(await deps.tokens.get(serviceAccountToken));
    return new Map([[serviceAccountToken.path, { data, mode }]]);
  }
  return collectFields(pod, downwardAPI?.items ?? [], mode, deps.facts);
};

const requireFound = (
  kind: string,
  found: unknown,
  { name, optional }: { name: string; optional?: boolean },
): void => {
  if (!found && optional !== true) throw new MountError(`${kind} "${name}" not found`);
};

const collectFields = (
  pod: Pod,
  items: readonly DownwardApiItem[],
  mode: number,
  facts: PodFacts,
): Payload =>
  new Map(
    items.map((item) => {
      if (!item.fieldRef) throw new MountError(`${item.path}: only fieldRef is supported`);
      const data = Buffer.from(readField(pod, item.fieldRef.fieldPath, facts));
      return [item.path, { data, mode: item.mode ?? mode }];
    }),
  );

const toBuffers = (
  data: Readonly<Record<string, string>> = {},
  encoding: 'utf8' | 'base64',
): Map<string, Buffer> =>
  new Map(Object.entries(data).map(([key, value]) => [key, Buffer.from(value, encoding)]));

/** All keys under their own names, or the listed ones under the listed paths. */
const pickKeys = (
  data: ReadonlyMap<string, Buffer>,
  { items, optional }: { items?: KeyToPath[]; optional?: boolean },
  mode: number,
): Payload => {
  if (!items) return new Map([...data].map(([key, value]) => [key, { data: value, mode }]));
  const files = new Map<string, FileContent>();
  for (const item of items) {
    const value = data.get(item.key);
    if (value) files.set(item.path, { data: value, mode: item.mode ?? mode });
    else if (optional !== true) throw new MountError(`references non-existent key: ${item.key}`);
  }
  return files;
};
