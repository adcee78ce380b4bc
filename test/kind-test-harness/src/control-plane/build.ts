/**
 * Builds the one-binary control plane from Go modules into the user's cache. A binary's place is a hash of everything
 * that makes it, so a stale one is never taken; a lock keeps two builds of the same binary from running at once.
 */
import { createHash } from 'node:crypto';
import { access, mkdir, readFile, rename, rm, stat, utimes } from 'node:fs/promises';
import { availableParallelism } from 'node:os';
import { join } from 'node:path';

import { withFileLock } from '../file-lock.ts';
import { cacheDirectory, KUBERNETES_VERSION } from '../paths.ts';
import { formatBytes, formatSeconds } from '../progress.ts';
import { run } from '../run.ts';

/** `node` adds kubelet and kube-proxy to the binary. */
export type BuildVariant = 'control-plane' | 'node';

type BuildDeps = { say: (line: string) => void; signal?: AbortSignal | undefined };

const SOURCES = join(import.meta.dirname, '../../control-plane');
const SOURCE_FILES = ['main.go', 'node.go', 'go.mod', 'go.sum'];
/** Cold build, measured: 220 s of two cores. */
const COLD_BUILD_CORE_SECONDS = 440;
/** A build that takes longer than this hangs: 20 times the cold build on one core is no build. */
const BUILD_TIMEOUT_MS = 3_600_000;
const REPORT_EVERY_MS = 10_000;

const [MAJOR, MINOR] = KUBERNETES_VERSION.split('.');
const LINKER_FLAGS = [
  '-s -w',
  ...['k8s.io/component-base/version', 'k8s.io/client-go/pkg/version'].map(
    (module) =>
      `-X ${module}.gitVersion=v${KUBERNETES_VERSION} -X ${module}.gitMajor=${MAJOR} -X ${module}.gitMinor=${MINOR}`,
  ),
].join(' ');

/** Path of the binary when an earlier run has built it. */
export const findCachedBuild = async (variant: BuildVariant): Promise<string | undefined> => {
  const binary = await binaryPath(variant);
  try {
    await access(binary);
  } catch {
    return undefined;
  }
  const now = new Date();
  await utimes(binary, now, now).catch(() => {}); // a cache on a read-only disk is still a cache
  return binary;
};

/** Builds the binary unless another process just has. @throws when Go is missing or the build fails. */
export const buildControlPlane = async (
  variant: BuildVariant,
  deps: BuildDeps,
): Promise<string> => {
  const binary = await binaryPath(variant);
  await mkdir(join(binary, '..'), { recursive: true });
  return await withFileLock(`${binary}.lock`, deps, async () => {
    const existing = await findCachedBuild(variant);
    if (existing) return existing;
    await requireGo(deps);
    const unfinished = `${binary}.${process.pid}`;
    try {
      await compile(variant, unfinished, deps);
      await rename(unfinished, binary);
    } finally {
      await rm(unfinished, { force: true });
    }
    return binary;
  });
};

const binaryPath = async (variant: BuildVariant): Promise<string> => {
  const hash = createHash('sha256');
  for (const file of SOURCE_FILES) hash.update(await readFile(join(SOURCES, file)));
  hash.update([LINKER_FLAGS, variant, process.platform, process.arch].join('\n'));
  return join(cacheDirectory(), variant, hash.digest('hex').slice(0, 16), 'control-plane');
};

const requireGo = async (deps: BuildDeps): Promise<void> => {
  const found = await run(['go', 'version'], { timeoutMs: 30_000, signal: deps.signal }).catch(
    (cause: unknown) => {
      throw new Error(
        'the control plane must be built, and there is no `go` on PATH: install Go 1.26 or later, or set KUBECONFIG or KUBEBUILDER_ASSETS',
        { cause },
      );
    },
  );
  deps.say(
    `building the control plane (Kubernetes ${KUBERNETES_VERSION}) with ${found.stdout.trim()}`,
  );
};

const compile = async (variant: BuildVariant, output: string, deps: BuildDeps): Promise<void> => {
  const flags = [
    '-trimpath',
    '-ldflags',
    LINKER_FLAGS,
    ...(variant === 'node' ? ['-tags', 'node'] : []),
  ];
  const options = {
    cwd: SOURCES,
    env: { ...process.env, CGO_ENABLED: '0', GOFLAGS: '-buildvcs=false -mod=readonly' },
    timeoutMs: BUILD_TIMEOUT_MS,
    signal: deps.signal,
  };
  const startedAt = Date.now();

  deps.say(
    'fetching Go modules and counting what is to be compiled (1.3 GB on disk the first time)',
  );
  const template = '{{if .Stale}}{{.ImportPath}}{{end}}';
  const listed = await run(['go', 'list', '-deps', '-f', template, ...flags, '.'], options);
  if (listed.code !== 0) throw new Error(`go list failed:\n${listed.stderr}`);
  const total = listed.stdout.split('\n').filter(Boolean).length;

  const cores = availableParallelism();
  deps.say(
    total > 500
      ? `compiling ${total} packages: about ${formatSeconds(COLD_BUILD_CORE_SECONDS / cores)} on ${cores} cores, once`
      : `compiling ${total} packages; Go has the others in its cache`,
  );
  const report = createBuildReport(total, deps.say);
  const built = await run(['go', 'build', '-v', ...flags, '-o', output, '.'], {
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
