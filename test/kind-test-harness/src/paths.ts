/**
 * Where the harness keeps things on this machine: a per-user cache that lasts, and one folder per
 * running cluster that does not.
 */
import { lstatSync, mkdirSync } from 'node:fs';
import { homedir, tmpdir } from 'node:os';
import { join } from 'node:path';

/** The version of every Kubernetes program that the harness builds. */
export const KUBERNETES_VERSION = '1.36.3';

/** `$XDG_CACHE_HOME/kind-test-harness`, by default below `~/.cache`. */
export const cacheDirectory = (env: NodeJS.ProcessEnv = process.env): string =>
  join(env['XDG_CACHE_HOME'] || join(homedir(), '.cache'), 'kind-test-harness');

/**
 * Folder that holds a folder for each running cluster of this user. Short, since unix socket paths
 * end at 107 bytes.
 */
export const clustersDirectory = (): string => join(tmpdir(), `kth-${process.getuid?.()}`);

/**
 * Creates the clusters folder for this user alone; it will hold admin credentials.
 * @throws when another user owns the path.
 */
export const ensureClustersDirectory = (): string => {
  const directory = clustersDirectory();
  mkdirSync(directory, { recursive: true, mode: 0o700 });
  const found = lstatSync(directory);
  if (!found.isDirectory() || found.uid !== process.getuid?.()) {
    throw new Error(`${directory} exists and is not this user's folder: remove it, or set TMPDIR`);
  }
  return directory;
};
