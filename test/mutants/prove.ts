/** Runs proofs in a tree, each as a process group of its own that ends with the signal or when it takes too long. */
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import type { Proof } from './mutant.ts';
import { outcomeOf, type Outcome } from './report.ts';

export type ProveOptions = { root: string; timeoutMs: number; signal: AbortSignal };

/** Time for tests to take down the control plane that they started. */
const GRACE_MS = 20_000;

/** @throws when the signal aborts */
export const prove = async (proof: Proof, options: ProveOptions): Promise<Outcome> => {
  const folder = mkdtempSync(path.join(tmpdir(), 'sdewan-mutants-report-'));
  const report = path.join(folder, 'report.json');
  try {
    const ended = await run(commandOf(proof, report), options);
    options.signal.throwIfAborted();
    if (ended.isLate) return { state: 'red', by: [`no end within ${options.timeoutMs / 1_000} s`] };
    if ('project' in proof) return outcomeOf(readReport(report, ended.output), ended.exitCode);
    return ended.exitCode === 0
      ? { state: 'green', files: [] }
      : { state: 'red', by: [lastLineOf(ended.output)] };
  } catch (error) {
    if (options.signal.aborted || !(error instanceof NoReport)) throw error;
    return { state: 'broken', why: error.message };
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
};

class NoReport extends Error {}

const readReport = (file: string, output: string): string => {
  try {
    return readFileSync(file, 'utf8');
  } catch (cause) {
    throw new NoReport(`vitest made no report: ${lastLineOf(output)}`, { cause });
  }
};

/**
 * Of these one test that fails is proof enough. Where tests start programs, vitest would end their process before they have stopped those, and
 * then wait for ever for their output to end.
 */
const STARTS_NOTHING: ReadonlySet<string> = new Set(['unit', 'contract']);

const commandOf = (proof: Proof, report: string): string[] =>
  'script' in proof
    ? ['npm', 'run', '--silent', ...proof.script]
    : [
        'vitest',
        'run',
        '--config=test/vitest.config.ts',
        `--project=${proof.project}`,
        ...(STARTS_NOTHING.has(proof.project) ? ['--bail=1'] : []),
        '--reporter=json',
        `--outputFile.json=${report}`,
        ...proof.filters,
      ];

type Ended = { exitCode: number | null; isLate: boolean; output: string };

const run = async (
  [program = '', ...args]: readonly string[],
  { root, timeoutMs, signal }: ProveOptions,
): Promise<Ended> => {
  signal.throwIfAborted();
  // With the random cases that everybody has: of a night's own ones some may miss a mutant.
  const { SDEWAN_SEED: _seed, SDEWAN_TIMES: _times, ...usual } = process.env;
  const child = spawn(program, args, {
    cwd: root,
    env: {
      ...usual,
      NODE_COMPILE_CACHE: path.join(root, 'node_modules/.cache/compiled'),
    },
    stdio: ['ignore', 'pipe', 'pipe'],
    detached: true,
  });
  let output = '';
  for (const stream of [child.stdout, child.stderr])
    stream.on('data', (chunk: Buffer) => (output = (output + chunk.toString()).slice(-4_000)));
  const closed = once(child, 'close');
  const late = AbortSignal.timeout(timeoutMs);
  const end = (): void => void endGroup(child.pid, closed);
  const ends = [signal, late];
  for (const each of ends) each.addEventListener('abort', end, { once: true });
  try {
    const [exitCode] = await closed;
    return { exitCode, isLate: late.aborted, output };
  } finally {
    for (const each of ends) each.removeEventListener('abort', end);
  }
};

const endGroup = async (pid: number | undefined, closed: Promise<unknown>): Promise<void> => {
  kill(pid, 'SIGTERM');
  await Promise.race([closed, sleep(GRACE_MS, undefined, { ref: false })]);
  kill(pid, 'SIGKILL');
};

/** A group that has ended needs no signal. */
const kill = (pid: number | undefined, name: NodeJS.Signals): void => {
  try {
    if (pid !== undefined) process.kill(-pid, name);
  } catch (error) {
    if (!(error instanceof Error && 'code' in error && error.code === 'ESRCH')) throw error;
  }
};

const lastLineOf = (output: string): string =>
  output.trimEnd().split('\n').at(-1)?.trim() || 'no output';
