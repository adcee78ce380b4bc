/**
 * Runs tests in a copy of the tree, and says what they prove: only a test that fails is a proof.
 */
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, readFileSync, rmSync } from 'node:fs';
import path from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { REPORT_VARIABLE } from '../reporter.ts';
import { runReport, type RunReport } from '../tally.ts';

export type Outcome =
  | { state: 'green'; files: readonly string[] }
  /** `by`: the tests that failed. */
  | { state: 'red'; by: readonly string[] }
  /** Something else than a test failed: a module that cannot be loaded, a hook, the run itself. */
  | { state: 'broken'; why: string };

/** The slowest are integration tests, with their control plane some minutes on a busy machine. */
const LIMIT_MS = 900_000;
/** Time for tests to take down the control plane that they started. */
const GRACE_MS = 20_000;
/** A mutant that names what is not there fails any test: that is a fault of the mutant. */
const IS_OF_THE_MUTANT = /^(ReferenceError|SyntaxError): /;

/** `exitCode`: vitest's. */
export const outcomeOf = ({ files, unhandled }: RunReport, exitCode: number | null): Outcome => {
  const failed = files.flatMap(({ tests }) => tests.filter(({ state }) => state === 'failed'));
  const proofs = failed.filter(({ error = '' }) => !IS_OF_THE_MUTANT.test(error));
  if (proofs.length > 0) return { state: 'red', by: proofs.map(({ name }) => name) };
  const [why] = [...failed, ...unhandled].flatMap(({ error }) => error ?? []);
  const outside = files.flatMap(({ errors }) => errors)[0] ?? why;
  if (outside !== undefined) return { state: 'broken', why: outside };
  if (exitCode !== 0) return { state: 'broken', why: `vitest ended with ${exitCode}` };
  return { state: 'green', files: files.map(({ file }) => file) };
};

/**
 * In a process group of its own, which ends with the signal or when it takes too long. @throws when
 * the signal aborts
 */
export const prove = async (
  project: string,
  tests: readonly string[],
  { root, signal }: { root: string; signal: AbortSignal },
): Promise<Outcome> => {
  signal.throwIfAborted();
  const report = path.join(root, 'report.json');
  rmSync(report, { force: true });
  // With the random cases that everybody has: of a night's own ones some may miss a mutant.
  const { SDEWAN_SEED: _seed, SDEWAN_TIMES: _times, ...usual } = process.env;
  const args = ['run', '--config=test/vitest.config.ts', `--project=${project}`, ...tests];
  const child = spawn('vitest', args, {
    cwd: root,
    env: { ...usual, [REPORT_VARIABLE]: report },
    stdio: 'ignore',
    detached: true,
  });
  const closed = once(child, 'close');
  const late = AbortSignal.timeout(LIMIT_MS);
  const end = (): void => void endGroup(child.pid, closed);
  const ends = AbortSignal.any([signal, late]);
  ends.addEventListener('abort', end, { once: true });
  const [exitCode] = await closed;
  ends.removeEventListener('abort', end);
  signal.throwIfAborted();
  if (late.aborted) return { state: 'red', by: [`no end within ${LIMIT_MS / 1_000} s`] };
  if (!existsSync(report)) return { state: 'broken', why: `vitest ended with ${exitCode}` };
  return outcomeOf(runReport.parse(JSON.parse(readFileSync(report, 'utf8'))), exitCode);
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
