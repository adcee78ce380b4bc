/**
 * Writes a container image of one layer as a docker-archive, which docker, podman, buildah and
 * containerd all import. No engine, no registry, and the same input gives the same bytes.
 */
import { createHash } from 'node:crypto';
import { readFile, writeFile } from 'node:fs/promises';
import { dirname } from 'node:path';

import { tar, type TarFile } from './tar.ts';

/**
 * Paths are absolute; parent directories are made. Modes are octal permissions, by default 0755.
 */
export type ImageEntry =
  | { path: string; source: string; mode?: number }
  | { path: string; content: string; mode?: number }
  | { path: string; linkTo: string }
  | { path: string; directory: true; mode?: number };

export type ImageArchive = {
  /** Full name with tag, as pod specs say it. */
  name: string;
  entries: readonly ImageEntry[];
  entrypoint?: readonly string[];
  command?: readonly string[];
  env?: Readonly<Record<string, string>>;
};

const ARCHITECTURES: Partial<Record<NodeJS.Architecture, string>> = {
  x64: 'amd64',
  arm64: 'arm64',
};
/** A fixed time keeps the bytes the same. */
const CREATED = '2026-01-01T00:00:00Z';

/** @throws when a source cannot be read or a path does not fit a ustar header (255 bytes). */
export const writeImageArchive = async (path: string, image: ImageArchive): Promise<void> => {
  const layer = tar(await layerFiles(image.entries));
  const config = JSON.stringify({
    architecture: ARCHITECTURES[process.arch] ?? process.arch,
    os: 'linux',
    created: CREATED,
    config: {
      Entrypoint: image.entrypoint,
      Cmd: image.command,
      Env: Object.entries({ PATH: '/usr/local/bin:/usr/bin:/bin', ...image.env }).map((pair) =>
        pair.join('='),
      ),
      WorkingDir: '/',
    },
    rootfs: { type: 'layers', diff_ids: [`sha256:${sha256(layer)}`] },
    history: [{ created: CREATED, created_by: 'kind-test-harness' }],
  });
  const configName = `${sha256(Buffer.from(config))}.json`;
  const layerName = `${sha256(layer)}.tar`;
  const manifest = [{ Config: configName, RepoTags: [image.name], Layers: [layerName] }];
  const archive = tar([
    { name: layerName, type: 'file', mode: 0o644, body: layer },
    { name: configName, type: 'file', mode: 0o644, body: Buffer.from(config) },
    {
      name: 'manifest.json',
      type: 'file',
      mode: 0o644,
      body: Buffer.from(JSON.stringify(manifest)),
    },
  ]);
  await writeFile(path, archive);
};

const layerFiles = async (entries: readonly ImageEntry[]): Promise<TarFile[]> => {
  const files = new Map<string, TarFile>();
  const addParents = (path: string): void => {
    const parent = dirname(path);
    if (parent === '.' || files.has(parent)) return;
    addParents(parent);
    files.set(parent, { name: parent, type: 'directory', mode: 0o755 });
  };
  for (const entry of entries) {
    const name = entry.path.replace(/^\/+/, '');
    addParents(name);
    files.set(name, { name, ...(await tarFile(entry)) });
  }
  return [...files.values()];
};

const tarFile = async (entry: ImageEntry): Promise<Omit<TarFile, 'name'>> => {
  if ('linkTo' in entry) return { type: 'link', mode: 0o777, linkTo: entry.linkTo };
  const mode = entry.mode ?? 0o755;
  if ('directory' in entry) return { type: 'directory', mode };
  const body = 'source' in entry ? await readFile(entry.source) : Buffer.from(entry.content);
  return { type: 'file', mode, body };
};

const sha256 = (bytes: Buffer): string => createHash('sha256').update(bytes).digest('hex');
