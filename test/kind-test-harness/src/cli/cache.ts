/** The cache of built programs and downloads: what it holds, and emptying it. */
import { readdir, rm, stat } from 'node:fs/promises';
import { join } from 'node:path';

import { cacheDirectory } from '../paths.ts';
import { formatBytes } from '../progress.ts';
import type { ClusterRecord } from '../record.ts';

export const cleanCache = async (running: readonly ClusterRecord[]): Promise<number> => {
  const directory = cacheDirectory();
  const names = await readdir(directory).catch(() => []);
  if (names.length === 0) {
    process.stdout.write(`${directory} is empty\n`);
    return 0;
  }
  if (running.length > 0) {
    const ids = running.map(({ id }) => id).join(', ');
    throw new Error(`clusters use the cache: end them first (kind-test-harness down): ${ids}`);
  }
  let total = 0;
  for (const name of names) {
    const bytes = await sizeOf(join(directory, name));
    total += bytes;
    process.stdout.write(`${formatBytes(bytes).padStart(9)}  ${join(directory, name)}\n`);
    await rm(join(directory, name), { recursive: true, force: true });
  }
  process.stdout.write(
    `${formatBytes(total).padStart(9)}  freed; what Go keeps for itself goes with: go clean -cache -modcache\n`,
  );
  return 0;
};

const sizeOf = async (directory: string): Promise<number> => {
  const entries = await readdir(directory, { withFileTypes: true, recursive: true }).catch(
    () => [],
  );
  const sizes = await Promise.all(
    entries
      .filter((entry) => entry.isFile())
      .map(async (entry) => (await stat(join(entry.parentPath, entry.name))).size),
  );
  return sizes.reduce((sum, size) => sum + size, 0);
};
