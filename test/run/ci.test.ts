/** `.ci/run` with an npm that only pretends: what it makes of commands that fail. */
import { spawnSync } from 'node:child_process';
import { chmodSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { afterEach, beforeEach, expect, it } from 'vitest';

const ciRun = path.resolve(import.meta.dirname, '../../.ci/run');
const DEMO = 'run demo -- --once';
const HARNESS = 'run test:harness -- --if-changed';
const PEOPLE = 'run test:people';
const FLEET = 'run test:fleet';
const NEUTRON = 'run test:neutron -- --share';
const SLOW = 'run test:slow';
const SLOW_WITH_NODE = 'run test:slow -- --node';

/** What each command prints, and how it exits. */
type Commands = Record<string, { prints?: string; code?: number }>;
const GREEN: Commands = {
  [DEMO]: { prints: 'all steps passed' },
  [HARNESS]: { prints: '0 passed, 0 failed' },
  test: { prints: 'took 5 s\n20 passed, 0 failed' },
  [PEOPLE]: { prints: '3 passed, 0 failed' },
  [FLEET]: { prints: '3 passed, 0 failed' },
  [NEUTRON]: { prints: '1 passed, 0 failed' },
  [SLOW]: { prints: '1 passed, 0 failed' },
  [SLOW_WITH_NODE]: { prints: '4 passed, 0 failed' },
};

let folder: string;
beforeEach(() => {
  folder = mkdtempSync(path.join(tmpdir(), 'ci-'));
});
afterEach(() => rmSync(folder, { recursive: true }));

const run = (changed: Commands, uid = 0) => {
  const program = (name: string, lines: string[]): void => {
    writeFileSync(path.join(folder, name), ['#!/bin/sh', ...lines, ''].join('\n'));
    chmodSync(path.join(folder, name), 0o755);
  };
  const cases = Object.entries({ ...GREEN, ...changed }).map(
    ([command, { prints = '', code = 0 }]) => `'${command}') echo "${prints}"; exit ${code} ;;`,
  );
  program('npm', [`echo "$CI $*" >>'${folder}/calls'`, 'case "$*" in', ...cases, 'esac', 'exit 9']);
  program('id', [`echo ${uid}`]);
  const { stdout, status } = spawnSync(ciRun, {
    env: { PATH: `${folder}:${process.env['PATH']}` },
    encoding: 'utf8',
  });
  const lines = stdout.trimEnd().split('\n');
  const calls = readFileSync(path.join(folder, 'calls'), 'utf8').trimEnd().split('\n');
  // One runs beside the two others, so that any place of the three may be its.
  const fleet = calls.findIndex((call) => call.endsWith(FLEET));
  const people = calls.findIndex((call) => call.endsWith(PEOPLE));
  calls.splice(Math.min(fleet, people), 0, ...calls.splice(fleet, 1));
  return {
    status,
    last: lines.slice(lines.lastIndexOf('') + 1),
    calls,
    stdout,
  };
};

it('runs each command once, and adds up the totals', () => {
  expect(run({})).toMatchObject({
    status: 0,
    last: ['32 passed, 0 failed'],
    calls: [DEMO, HARNESS, 'test', FLEET, PEOPLE, NEUTRON, SLOW_WITH_NODE].map(
      (command) => `true ${command}`,
    ),
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
    '31 passed, 1 failed',
  ]);
  expect(calls).toHaveLength(7);
});

it.each<[string, Commands, string[]]>([
  [
    'a demo that fails',
    { [DEMO]: { code: 3 } },
    [`failed: npm ${DEMO} (exit code 3)`, '31 passed, 1 failed'],
  ],
  [
    'a command that fails after green totals',
    { test: { prints: '20 passed, 0 failed', code: 1 } },
    ['failed: npm test (exit code 1)', '32 passed, 1 failed'],
  ],
  [
    'a command with red totals that exits as if it were green',
    { test: { prints: '19 passed, 1 failed' } },
    ['31 passed, 1 failed'],
  ],
  [
    'the one that runs beside others',
    { [FLEET]: { prints: '2 passed, 1 failed', code: 1 } },
    [`failed: npm ${FLEET} (exit code 1)`, '31 passed, 1 failed'],
  ],
  [
    'the second of them',
    { [PEOPLE]: { prints: '2 passed, 1 failed', code: 1 } },
    [`failed: npm ${PEOPLE} (exit code 1)`, '31 passed, 1 failed'],
  ],
  [
    'a command that does not end in time',
    { [SLOW_WITH_NODE]: { code: 124 } },
    [`failed: npm ${SLOW_WITH_NODE} (did not end in time)`, '28 passed, 1 failed'],
  ],
  [
    'the one after the second',
    { [NEUTRON]: { prints: '0 passed, 1 failed', code: 1 } },
    [`failed: npm ${NEUTRON} (exit code 1)`, '31 passed, 1 failed'],
  ],
])('is red with %s', (_, commands, last) => {
  expect(run(commands)).toMatchObject({ status: 1, last });
});

it('says where it cannot prove anything on a real node', () => {
  const { status, calls, stdout } = run({}, 1_000);
  expect(status).toBe(0);
  expect(calls.at(-1)).toBe(`true ${SLOW}`);
  expect(stdout).toContain('Nothing is proven on a real node');
});
