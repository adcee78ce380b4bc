/**
 * Builds Go programs into the user's cache. A binary's place is a hash of everything that makes it,
 * so a stale one is never taken; a lock keeps two builds of the same binary from running at once.
 */
import { createHash } from 'node:crypto';
import { access, mkdir, readdir, readFile, rename, rm, stat, utimes } from 'node:fs/promises';
import { availableParallelism } from 'node:os';
import { basename, dirname, join } from 'node:path';

import { withFileLock } from './file-lock.ts';
import { cacheDirectory } from './paths.ts';
import { formatBytes, formatSeconds } from './progress.ts';
import { run } from './run.ts';

export type GoProgram = {
  /** Name of its folder in the cache, and for people. */
  name: string;
  /** Folder with its module: every file in it counts for the hash. */
  sources: string;
  /** What of it is built, or of what it depends on; default: the module's own program. */
  package?: string;
  /** What the binary is called. */
  binary: string;
  /** Arguments of `go build`, besides those that make builds repeatable. */
  flags: readonly string[];
  /** Cold build, measured: seconds times cores. */
  coldBuildCoreSeconds: number;
  /** What does without it, for users without Go. */
  instead?: string;
};

type BuildDeps = {
  env?: NodeJS.ProcessEnv;
  say: (line: string) => void;
  signal?: AbortSignal | undefined;
};

/**
 * A build that takes longer than this hangs: 20 times the longest cold build on one core is no
 * build.
 */
const BUILD_TIMEOUT_MS = 3_600_000;
const REPORT_EVERY_MS = 10_000;
/** With fewer packages than this to compile, Go's own cache is warm. */
const COLD_PACKAGES = 500;

/** Path of the binary when an earlier run has built it. */
export const findCachedBuild = async (program: GoProgram): Promise<string | undefined> => {
  const binary = await binaryPath(program);
  try {
    await access(binary);
  } catch {
    return undefined;
  }
  const now = new Date();
  await utimes(binary, now, now).catch(() => {}); // a cache on a read-only disk is still a cache
  return binary;
};

/**
 * Builds the binary unless it is there or another process just has. @throws when Go is missing or
 * the build fails.
 */
export const buildGoProgram = async (program: GoProgram, deps: BuildDeps): Promise<string> => {
  const binary = await binaryPath(program);
  await mkdir(dirname(binary), { recursive: true });
  return await withFileLock(`${binary}.lock`, deps, async () => {
    const existing = await findCachedBuild(program);
    if (existing) return existing;
    await requireGo(program, deps);
    await removeUnfinished(binary);
    const unfinished = `${binary}.${process.pid}`;
    try {
      await compile(program, unfinished, deps);
      await rename(unfinished, binary);
    } finally {
      await rm(unfinished, { force: true });
    }
    return binary;
  });
};

const OWN_PROGRAM = '.';

const binaryPath = async ({
  name,
  sources,
  package: built = OWN_PROGRAM,
  binary,
  flags,
}: GoProgram): Promise<string> => {
  const hash = createHash('sha256');
  for (const file of (await readdir(sources)).sort())
    hash.update(await readFile(join(sources, file)));
  const named = built === OWN_PROGRAM ? [] : [built];
  hash.update([...named, ...flags, process.platform, process.arch].join('\n'));
  return join(cacheDirectory(), name, hash.digest('hex').slice(0, 16), binary);
};

/** What builds that were killed have left; no other process builds while we hold the lock. */
const removeUnfinished = async (binary: string): Promise<void> => {
  const folder = dirname(binary);
  const unfinished = (await readdir(folder)).filter((name) =>
    /^\d+$/.test(name.slice(basename(binary).length + 1)),
  );
  for (const name of unfinished) await rm(join(folder, name), { force: true });
};

const requireGo = async ({ name, instead }: GoProgram, deps: BuildDeps): Promise<void> => {
  const found = await run(['go', 'version'], { timeoutMs: 30_000, signal: deps.signal }).catch(
    (cause: unknown) => {
      throw new Error(
        `${name} must be built, and there is no \`go\` on PATH: install Go 1.26 or later${instead === undefined ? '' : `, or ${instead}`}`,
        { cause },
      );
    },
  );
  deps.say(`building ${name} with ${found.stdout.trim()}`);
};

const compile = async (program: GoProgram, output: string, deps: BuildDeps): Promise<void> => {
  const { package: what = OWN_PROGRAM } = program;
  const flags = ['-trimpath', ...program.flags];
  const options = {
    cwd: program.sources,
    env: {
      ...(deps.env ?? process.env),
      CGO_ENABLED: '0',
      GOFLAGS: '-buildvcs=false -mod=readonly',
    },
    timeoutMs: BUILD_TIMEOUT_MS,
    signal: deps.signal,
  };
  const startedAt = Date.now();

  deps.say(
    'fetching Go modules and counting what is to be compiled (up to 1.3 GB on disk the first time)',
  );
  const template = '{{if .Stale}}{{.ImportPath}}{{end}}';
  const listed = await run(['go', 'list', '-deps', '-f', template, ...flags, what], options);
  if (listed.code !== 0) throw new Error(`go list failed:\n${listed.stderr}`);
  const total = listed.stdout.split('\n').filter(Boolean).length;

  const cores = availableParallelism();
  deps.say(
    total > COLD_PACKAGES
      ? `compiling ${total} packages: about ${formatSeconds(program.coldBuildCoreSeconds / cores)} on ${cores} cores, once`
      : `compiling ${total} packages; Go has the others in its cache`,
  );
  const report = createBuildReport(total, deps.say);
  const built = await run(['go', 'build', '-v', ...flags, '-o', output, what], {
    ...options,
    onErrorLine: report,
  });
  if (built.code !== 0) throw new Error(`go build failed:\n${built.stderr.slice(-4000)}`);
  const { size } = await stat(output);
  deps.say(`built ${formatBytes(size)} in ${formatSeconds((Date.now() - startedAt) / 1000)}`);
};

/** `go build -v` prints a line per package that it compiles. */
const createBuildReport = (total: number, say: (line: string) => void): (() => void) => {
  const startedAt = Date.now();
  let reportedAt = startedAt;
  let done = 0;
  return () => {
    done += 1;
    const now = Date.now();
    if (now - reportedAt < REPORT_EVERY_MS || done >= total) return;
    reportedAt = now;
    const left = ((now - startedAt) / 1000 / done) * (total - done);
    say(`compiled ${done} of ${total} packages, about ${formatSeconds(left)} left`);
  };
};
