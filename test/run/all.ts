/**
 * `npm test`: everything that can fail, cheapest first, and one line of totals at the end. A stage that fails does not stop
 * the next ones, so that one run tells all. With CI=true a skipped test of ours is a failure: nobody would notice it.
 */
import { spawnSync } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import * as z from 'zod';

const VITEST_PROJECTS = ['unit', 'contract', 'integration', 'e2e'] as const;
/** Static checks of `npm run check`; its unit tests are a vitest project here. */
const CHECKS = ['format:check', 'lint', 'types', 'generate:check'] as const;

/** The part of vitest's JSON report that is counted. */
const vitestReport = z.object({
  numPassedTests: z.number(),
  numFailedTests: z.number(),
  numPendingTests: z.number(),
  numTodoTests: z.number(),
  success: z.boolean(),
  testResults: z.array(
    z.object({
      name: z.string(),
      assertionResults: z.array(z.object({ status: z.string(), fullName: z.string() })),
    }),
  ),
});

type Totals = { passed: number; failed: number; skipped: string[] };

const say = (line: string): void => console.log(line);
const root = path.resolve(import.meta.dirname, '../..');
const isCi = process.env['CI'] === 'true';

const runCheck = (script: string): Totals => {
  const { status } = spawnSync('npm', ['run', '--silent', script], { cwd: root, stdio: 'inherit' });
  return { passed: status === 0 ? 1 : 0, failed: status === 0 ? 0 : 1, skipped: [] };
};

const runProject = (project: string, folder: string): Totals => {
  const output = path.join(folder, `${project}.json`);
  const { status } = spawnSync(
    'vitest',
    [
      'run',
      '--config=test/vitest.config.ts',
      `--project=${project}`,
      '--reporter=default',
      '--reporter=json',
      `--outputFile.json=${output}`,
    ],
    { cwd: root, stdio: 'inherit' },
  );
  const totals = countTests(output);
  const crashed = status !== 0 && totals.failed === 0;
  return { ...totals, failed: totals.failed + (crashed ? 1 : 0) };
};

const countTests = (file: string): Totals => {
  try {
    const report = vitestReport.parse(JSON.parse(readFileSync(file, 'utf8')));
    const tests = report.testResults.flatMap(({ assertionResults }) => assertionResults);
    return {
      passed: report.numPassedTests,
      failed: report.numFailedTests,
      skipped: tests
        .filter(({ status }) => status !== 'passed' && status !== 'failed')
        .map(({ fullName }) => fullName),
    };
  } catch (error) {
    say(`no report in ${file}: ${String(error)}`);
    return { passed: 0, failed: 1, skipped: [] };
  }
};

const main = (): number => {
  const started = Date.now();
  const folder = mkdtempSync(path.join(tmpdir(), 'sdewan-test-'));
  const all: Totals = { passed: 0, failed: 0, skipped: [] };
  const stage = (name: string, run: () => Totals): void => {
    const stageStarted = Date.now();
    say(`\n━━ ${name}`);
    const { passed, failed, skipped } = run();
    all.passed += passed;
    all.failed += failed;
    all.skipped.push(...skipped);
    say(`━━ ${name}: ${passed} passed, ${failed} failed, ${seconds(stageStarted)}`);
  };
  for (const script of CHECKS) stage(script, () => runCheck(script));
  for (const project of VITEST_PROJECTS) stage(project, () => runProject(project, folder));
  rmSync(folder, { recursive: true, force: true });

  for (const name of all.skipped) say(`skipped: ${name}`);
  const failed = all.failed + (isCi ? all.skipped.length : 0);
  if (isCi && all.skipped.length > 0) say('CI=true: skipped tests count as failed');
  say(`\ntook ${seconds(started)}`);
  say(`${all.passed} passed, ${failed} failed`);
  return failed === 0 ? 0 : 1;
};

const seconds = (since: number): string => `${((Date.now() - since) / 1000).toFixed(1)} s`;

process.exitCode = main();
