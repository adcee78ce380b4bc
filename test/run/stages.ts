/**
 * Runs stages one after the other, and prints one line of totals at the end. A stage that fails does not stop the next ones, so
 * that one run tells all. With CI=true a skipped test of ours is a failure: nobody would notice it.
 *
 * Tests on a real control plane meet its timing and the machine's load. Where a few files fail they run once more, alone: what fails
 * twice has failed, and what passes then is named as flaky at the end, to be mended.
 */
import { spawnSync } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { flakyOf, isRed, settle, talliesOf, type FileTally } from './tally.ts';

/** So many files of a project may fail and get a second run; where more fail it is not the timing. */
const FEW_FILES = 3;
export type Stages = {
  /** Scripts of package.json. */
  checks: readonly string[];
  /** Of test/vitest.config.ts. */
  projects: readonly string[];
};

type Totals = { passed: number; failed: number; skipped: string[]; flaky: string[] };

const say = (line: string): void => console.log(line);
const root = path.resolve(import.meta.dirname, '../..');
const isCi = process.env['CI'] === 'true';

const runCheck = (script: string): Totals => {
  const { status } = spawnSync('npm', ['run', '--silent', script], { cwd: root, stdio: 'inherit' });
  const passed = status === 0;
  return { passed: passed ? 1 : 0, failed: passed ? 0 : 1, skipped: [], flaky: [] };
};

/** Undefined: vitest ended without a report. */
const runVitest = (
  project: string,
  folder: string,
  files: readonly string[] = [],
): FileTally[] | undefined => {
  const output = path.join(folder, `${project}.json`);
  rmSync(output, { force: true });
  const { status } = spawnSync(
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
    { cwd: root, stdio: 'inherit' },
  );
  try {
    const tallies = talliesOf(readFileSync(output, 'utf8'));
    return status === 0 || tallies.some(isRed) ? tallies : undefined;
  } catch (error) {
    say(`no report in ${output}: ${String(error)}`);
    return undefined;
  }
};

const runProject = (project: string, folder: string): Totals => {
  const first = runVitest(project, folder);
  if (!first) return { passed: 0, failed: 1, skipped: [], flaky: [] };
  const red = first.filter(isRed).map(({ file }) => file);
  if (red.length === 0 || red.length > FEW_FILES) return totalsOf(first, []);
  say(
    `\n━━ ${project}: once more, alone: ${red.map((file) => path.relative(root, file)).join(', ')}`,
  );
  const second = runVitest(project, folder, red) ?? [];
  return totalsOf(settle(first, second), flakyOf(first, second));
};

const totalsOf = (tallies: readonly FileTally[], flaky: string[]): Totals => ({
  passed: tallies.flatMap(({ passed }) => passed).length,
  failed: tallies.reduce((sum, { failed, broken }) => sum + failed.length + (broken ? 1 : 0), 0),
  skipped: tallies.flatMap(({ skipped }) => skipped),
  flaky,
});

/** The exit code for all of them. */
export const runStages = ({ checks, projects }: Stages): number => {
  const started = Date.now();
  const folder = mkdtempSync(path.join(tmpdir(), 'sdewan-test-'));
  const all: Totals = { passed: 0, failed: 0, skipped: [], flaky: [] };
  const stage = (name: string, run: () => Totals): void => {
    const stageStarted = Date.now();
    say(`\n━━ ${name}`);
    const { passed, failed, skipped, flaky } = run();
    all.passed += passed;
    all.failed += failed;
    all.skipped.push(...skipped);
    all.flaky.push(...flaky);
    say(`━━ ${name}: ${passed} passed, ${failed} failed, ${seconds(stageStarted)}`);
  };
  for (const script of checks) stage(script, () => runCheck(script));
  for (const project of projects) stage(project, () => runProject(project, folder));
  rmSync(folder, { recursive: true, force: true });

  for (const name of all.skipped) say(`skipped: ${name}`);
  for (const name of all.flaky) say(`flaky, passed when run once more: ${name}`);
  const failed = all.failed + (isCi ? all.skipped.length : 0);
  if (isCi && all.skipped.length > 0) say('CI=true: skipped tests count as failed');
  say(`\ntook ${seconds(started)}`);
  say(`${all.passed} passed, ${failed} failed`);
  return failed === 0 ? 0 : 1;
};

const seconds = (since: number): string => `${((Date.now() - since) / 1000).toFixed(1)} s`;
