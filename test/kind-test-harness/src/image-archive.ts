/**
 * Writes a container image of one layer as a docker-archive, which docker, podman, buildah and containerd all import.
 * No engine, no registry, and the same input gives the same bytes.
 */
import { createHash } from 'node:crypto';
import { readFile, writeFile } from 'node:fs/promises';
import { dirname } from 'node:path';

/** Paths are absolute; parent directories are made. Modes are octal permissions, by default 0755. */
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

const BLOCK = 512;
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
  const manifest = [{ Config: configName, RepoTags: [image.name], Layers: ['layer.tar'] }];
  const archive = tar([
    { name: 'layer.tar', type: 'file', mode: 0o644, body: layer },
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

type TarFile = {
  name: string;
  type: 'file' | 'link' | 'directory';
  mode: number;
  body?: Buffer;
  linkTo?: string;
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

const tar = (files: readonly TarFile[]): Buffer => {
  const blocks = files.flatMap((file) => {
    const size = file.body?.length ?? 0;
    return [header(file, size), file.body ?? Buffer.alloc(0), Buffer.alloc(-size & (BLOCK - 1))];
  });
  return Buffer.concat([...blocks, Buffer.alloc(2 * BLOCK)]);
};

const TYPE_FLAGS = { file: '0', link: '2', directory: '5' };

const header = (file: TarFile, size: number): Buffer => {
  const block = Buffer.alloc(BLOCK);
  const octal = (value: number, offset: number, width: number): void => {
    block.write(`${value.toString(8).padStart(width - 1, '0')}\0`, offset, 'latin1');
  };
  const [prefix, name] = splitName(file.name);
  block.write(name, 0);
  octal(file.mode, 100, 8);
  octal(0, 108, 8);
  octal(0, 116, 8);
  octal(size, 124, 12);
  octal(0, 136, 12);
  block.write(' '.repeat(8), 148); // the checksum counts its own field as blanks
  block.write(TYPE_FLAGS[file.type], 156);
  block.write(file.linkTo ?? '', 157);
  block.write('ustar\u000000', 257, 'latin1');
  block.write(prefix, 345);
  octal(
    block.reduce((sum, byte) => sum + byte, 0),
    148,
    7,
  );
  return block;
};

/** ustar keeps 100 bytes of name, and 155 of folders before it. */
const splitName = (path: string): [prefix: string, name: string] => {
  if (Buffer.byteLength(path) <= 100) return ['', path];
  for (let cut = path.indexOf('/'); cut >= 0; cut = path.indexOf('/', cut + 1)) {
    const [prefix, name] = [path.slice(0, cut), path.slice(cut + 1)];
    if (Buffer.byteLength(prefix) <= 155 && Buffer.byteLength(name) <= 100) return [prefix, name];
  }
  throw new Error(`${path} is too long for an image archive`);
};

const sha256 = (bytes: Buffer): string => createHash('sha256').update(bytes).digest('hex');
