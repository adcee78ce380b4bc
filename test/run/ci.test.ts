/** `.ci/run` with an npm that only pretends: what it makes of commands that fail. */
import { spawnSync } from 'node:child_process';
import { chmodSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { afterEach, beforeEach, expect, it } from 'vitest';

const ciRun = path.resolve(import.meta.dirname, '../../.ci/run');
const DEMO = 'run demo -- --once';
const HOUSE = 'run --silent suite -- --house';
const SUITES = 'run suite -- --due';

/** What each command prints, and how it exits. */
type Commands = Record<string, { prints?: string; code?: number }>;
const GREEN: Commands = {
  [DEMO]: { prints: 'all steps passed' },
  test: { prints: '━━ unit: 20 passed, 0 failed, 5.0 s\ntook 5 s\n20 passed, 0 failed' },
  [HOUSE]: { prints: 'lines of product 5' },
  [SUITES]: { prints: '12 passed, 0 failed' },
};

let folder: string;
beforeEach(() => {
  folder = mkdtempSync(path.join(tmpdir(), 'ci-'));
});
afterEach(() => rmSync(folder, { recursive: true }));

const run = (changed: Commands, ...args: readonly string[]) => {
  const program = (name: string, lines: string[]): void => {
    writeFileSync(path.join(folder, name), ['#!/bin/sh', ...lines, ''].join('\n'));
    chmodSync(path.join(folder, name), 0o755);
  };
  const cases = Object.entries({ ...GREEN, ...changed }).map(
    ([command, { prints = '', code = 0 }]) => `'${command}') echo "${prints}"; exit ${code} ;;`,
  );
  program('npm', [`echo "$CI $*" >>'${folder}/calls'`, 'case "$*" in', ...cases, 'esac', 'exit 9']);
  const { stdout, status } = spawnSync(ciRun, args, {
    env: { PATH: `${folder}:${process.env['PATH']}` },
    encoding: 'utf8',
  });
  const lines = stdout.trimEnd().split('\n');
  const calls = readFileSync(path.join(folder, 'calls'), 'utf8').trimEnd().split('\n');
  return {
    status,
    last: lines.slice(lines.lastIndexOf('') + 1),
    calls,
    stdout,
  };
};

it('runs each command once, says how long what took, what there is to carry, and adds up the totals', () => {
  const { status, last, calls, stdout } = run({});
  expect(status).toBe(0);
  expect(last).toEqual(['33 passed, 0 failed']);
  expect(calls).toEqual([DEMO, 'test', SUITES, HOUSE].map((command) => `true ${command}`));
  expect(stdout).toMatch(/^\d+ s {2}npm test\n {4}5\.0 s {2}unit: 20 passed, 0 failed$/m);
  expect(stdout).toMatch(/^lines of product 5$/m);
});

it('runs all suites where that is asked', () => {
  const all = 'run suite -- --all';
  expect(run({ [all]: { prints: '14 passed, 0 failed' } }, '--all')).toMatchObject({
    last: ['35 passed, 0 failed'],
    calls: [DEMO, 'test', all, HOUSE].map((command) => `true ${command}`),
  });
});

it('is red with a command that is red, whatever the ones after it are, and says what broke last', () => {
  const prints = 'failed: unit a > b: no\nreplay: SDEWAN_SEED=1 npx\n19 passed, 1 failed';
  const { status, last, calls } = run({ test: { prints, code: 1 } });
  expect(status).toBe(1);
  expect(last).toEqual([
    'failed: unit a > b: no',
    'replay: SDEWAN_SEED=1 npx',
    'failed: npm test (exit code 1)',
    '32 passed, 1 failed',
  ]);
  expect(calls).toHaveLength(4);
});

it.each<[string, Commands, string[]]>([
  [
    'a demo that fails',
    { [DEMO]: { code: 3 } },
    [`failed: npm ${DEMO} (exit code 3)`, '32 passed, 1 failed'],
  ],
  [
    'a command that fails after green totals',
    { test: { prints: '20 passed, 0 failed', code: 1 } },
    ['failed: npm test (exit code 1)', '33 passed, 1 failed'],
  ],
  [
    'a command with red totals that exits as if it were green',
    { test: { prints: '19 passed, 1 failed' } },
    ['32 passed, 1 failed'],
  ],
  [
    'a command that does not end in time',
    { [SUITES]: { code: 124 } },
    [`failed: npm ${SUITES} (did not end in time)`, '21 passed, 1 failed'],
  ],
])('is red with %s', (_, commands, last) => {
  expect(run(commands)).toMatchObject({ status: 1, last });
});
