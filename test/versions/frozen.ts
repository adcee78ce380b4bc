/**
 * The product as it was at the commit in test/versions/baseline: programs and manifests, built once into the user's cache. The baseline
 * is the version that operators upgrade from: whoever makes a release writes its commit there.
 */
import { execFile } from 'node:child_process';
import { existsSync, readFileSync } from 'node:fs';
import { cp, mkdir, mkdtemp, rename, rm, symlink } from 'node:fs/promises';
import { homedir } from 'node:os';
import path from 'node:path';
import { promisify } from 'node:util';

const execute = promisify(execFile);
const CHECKOUT = path.resolve(import.meta.dirname, '../..');
const PROGRAMS = ['agent', 'coordinator'] as const;
const PATIENCE_MS = 300_000;

export type Frozen = {
  commit: string;
  /** What Node runs, by program. */
  programs: Readonly<Record<(typeof PROGRAMS)[number], string>>;
  /** Its folder deploy/. */
  deploy: string;
};

/** @throws Error that says what to do where the clone lacks the commit */
export const frozenBuild = async (): Promise<Frozen> => {
  const commit = readFileSync(path.join(import.meta.dirname, 'baseline'), 'utf8').trim();
  const cache = path.join(
    process.env['XDG_CACHE_HOME'] || path.join(homedir(), '.cache'),
    'sdewan-config-agent',
  );
  const folder = path.join(cache, commit);
  if (!existsSync(folder)) await build(commit, folder);
  const programs = {
    agent: programIn(folder, 'agent'),
    coordinator: programIn(folder, 'coordinator'),
  };
  return { commit, programs, deploy: path.join(folder, 'deploy') };
};

const programIn = (folder: string, program: string): string =>
  path.join(folder, program, 'main.mjs');

/** Whole or not at all: two that build at once do not see each other's half. */
const build = async (commit: string, folder: string): Promise<void> => {
  const cache = path.dirname(folder);
  await mkdir(cache, { recursive: true });
  const work = await mkdtemp(path.join(cache, 'building-'));
  const source = path.join(work, 'source');
  const built = path.join(work, 'built');
  try {
    await mkdir(source);
    await unpack(commit, work, source);
    await withModules(source);
    await mkdir(built);
    for (const program of PROGRAMS)
      await execute(
        process.execPath,
        ['deploy/images/bundle.ts', `${program}/main.ts`, path.join(built, program)],
        { cwd: source, timeout: PATIENCE_MS },
      );
    await cp(path.join(source, 'deploy'), path.join(built, 'deploy'), { recursive: true });
    await rename(built, folder).catch((error: unknown) => {
      if (!existsSync(folder)) throw error;
    });
  } finally {
    await rm(work, { recursive: true, force: true });
  }
};

const unpack = async (commit: string, work: string, source: string): Promise<void> => {
  const archive = path.join(work, 'source.tar');
  try {
    await execute('git', ['archive', `--output=${archive}`, commit], { cwd: CHECKOUT });
  } catch (cause) {
    const told = `the clone has no commit ${commit} of test/versions/baseline: git fetch --unshallow`;
    throw new Error(told, { cause });
  }
  await execute('tar', ['-xf', archive, '-C', source]);
};

/** The checkout's own, unless the versions in its lockfile were others. */
const withModules = async (source: string): Promise<void> => {
  const [then, now] = [source, CHECKOUT].map((root) =>
    readFileSync(path.join(root, 'package-lock.json'), 'utf8'),
  );
  if (then === now) {
    await symlink(path.join(CHECKOUT, 'node_modules'), path.join(source, 'node_modules'));
    return;
  }
  await execute('npm', ['ci', '--no-audit', '--no-fund'], { cwd: source, timeout: PATIENCE_MS });
};
