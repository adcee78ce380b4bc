/**
 * Runs stages one after the other, and prints one line of totals at the end. A stage that fails does not stop the next ones, so
 * that one run tells all. With CI=true a skipped test of ours is a failure: nobody would notice it.
 *
 * Tests on a real control plane meet its timing and the machine's load. Where a few files fail they run once more, alone: what fails
 * twice has failed, and what passes then is named as flaky at the end, to be mended.
 */
import { spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { createInterface } from 'node:readline';
import { COMPILE_CACHE } from '../stack/compile-cache.ts';
import { flakyOf, isRed, settle, talliesOf, type FileTally } from './tally.ts';

/** So many files of a project may fail and get a second run; where more fail it is not the timing. */
const FEW_FILES = 3;
export type Stages = {
  /** Scripts of package.json. */
  checks: readonly string[];
  /**
   * Of test/vitest.config.ts. Those of one list run at the same time: each starts a control plane of its own, and waits more than it
   * computes.
   */
  projects: readonly (readonly string[])[];
};

type Totals = { passed: number; failed: number; skipped: string[]; flaky: string[] };
/** Of one run; `tallies` undefined: vitest ended without a report. */
type ProjectRun = { project: string; tallies: FileTally[] | undefined; tookMs: number };

const say = (line: string): void => console.log(line);
const root = path.resolve(import.meta.dirname, '../..');
const isCi = process.env['CI'] === 'true';

const runCheck = (script: string): Totals => {
  const { status } = spawnSync('npm', ['run', '--silent', script], { cwd: root, stdio: 'inherit' });
  const passed = status === 0;
  return { passed: passed ? 1 : 0, failed: passed ? 0 : 1, skipped: [], flaky: [] };
};

type VitestOptions = {
  /** Where its report goes. */
  folder: string;
  /** Others print at the same time: whole lines only, and nothing that moves the cursor. */
  shared?: boolean;
  /** Absolute paths; none: all of the project. */
  files?: readonly string[];
};

const runVitest = async (project: string, options: VitestOptions): Promise<ProjectRun> => {
  const { folder, shared = false, files = [] } = options;
  const started = Date.now();
  const output = path.join(folder, `${project}.json`);
  rmSync(output, { force: true });
  const child = spawn(
    'vitest',
    [
      'run',
      '--config=test/vitest.config.ts',
      `--project=${project}`,
      '--reporter=default',
      '--reporter=json',
      `--outputFile.json=${output}`,
      ...files,
    ],
    {
      cwd: root,
      env: { ...process.env, ...COMPILE_CACHE },
      stdio: [
        'inherit',
        ...(shared ? (['pipe', 'pipe'] as const) : (['inherit', 'inherit'] as const)),
      ],
    },
  );
  for (const stream of [child.stdout, child.stderr])
    if (stream) createInterface({ input: stream }).on('line', say);
  const [status] = await once(child, 'close');
  const run = { project, tookMs: Date.now() - started };
  try {
    const tallies = talliesOf(readFileSync(output, 'utf8'));
    return { ...run, tallies: status === 0 || tallies.some(isRed) ? tallies : undefined };
  } catch (error) {
    say(`no report in ${output}: ${String(error)}`);
    return { ...run, tallies: undefined };
  }
};

const settled = async ({ project, tallies }: ProjectRun, folder: string): Promise<Totals> => {
  if (!tallies) return { passed: 0, failed: 1, skipped: [], flaky: [] };
  const red = tallies.filter(isRed).map(({ file }) => file);
  if (red.length === 0 || red.length > FEW_FILES) return totalsOf(tallies, []);
  say(
    `\n━━ ${project}: once more, alone: ${red.map((file) => path.relative(root, file)).join(', ')}`,
  );
  const { tallies: second = [] } = await runVitest(project, { folder, files: red });
  return totalsOf(settle(tallies, second), flakyOf(tallies, second));
};

const totalsOf = (tallies: readonly FileTally[], flaky: string[]): Totals => ({
  passed: tallies.flatMap(({ passed }) => passed).length,
  failed: tallies.reduce((sum, { failed, broken }) => sum + failed.length + (broken ? 1 : 0), 0),
  skipped: tallies.flatMap(({ skipped }) => skipped),
  flaky,
});

/** The exit code for all of them. */
export const runStages = async ({ checks, projects }: Stages): Promise<number> => {
  const started = Date.now();
  const folder = mkdtempSync(path.join(tmpdir(), 'sdewan-test-'));
  const all: Totals = { passed: 0, failed: 0, skipped: [], flaky: [] };
  const add = (name: string, { passed, failed, skipped, flaky }: Totals, tookMs: number): void => {
    all.passed += passed;
    all.failed += failed;
    all.skipped.push(...skipped);
    all.flaky.push(...flaky);
    say(`━━ ${name}: ${passed} passed, ${failed} failed, ${seconds(tookMs)}`);
  };
  for (const script of checks) {
    const checkStarted = Date.now();
    say(`\n━━ ${script}`);
    add(script, runCheck(script), Date.now() - checkStarted);
  }
  for (const together of projects) {
    say(`\n━━ ${together.join(' and ')}`);
    const shared = together.length > 1;
    const runs = await Promise.all(
      together.map((project) => runVitest(project, { folder, shared })),
    );
    for (const run of runs) add(run.project, await settled(run, folder), run.tookMs);
  }
  rmSync(folder, { recursive: true, force: true });

  for (const name of all.skipped) say(`skipped: ${name}`);
  for (const name of all.flaky) say(`flaky, passed when run once more: ${name}`);
  const failed = all.failed + (isCi ? all.skipped.length : 0);
  if (isCi && all.skipped.length > 0) say('CI=true: skipped tests count as failed');
  say(`\ntook ${seconds(Date.now() - started)}`);
  say(`${all.passed} passed, ${failed} failed`);
  return failed === 0 ? 0 : 1;
};

const seconds = (ms: number): string => `${(ms / 1_000).toFixed(1)} s`;
