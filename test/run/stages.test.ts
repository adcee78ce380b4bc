/** Whole runs of projects that are red on purpose, judged by what they print and how they exit. */
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { text } from 'node:stream/consumers';
import { expect, it, vi } from 'vitest';
import { onRealNode } from './real-node.ts';
import { runStages, type Stage } from './stages.ts';

const root = path.resolve(import.meta.dirname, '../..');
const binaries = path.join(root, 'node_modules/.bin');

const run = async (project: string, env: NodeJS.ProcessEnv = {}) => {
  const child = spawn(process.execPath, ['test/run/fixtures/run.ts', project], {
    cwd: root,
    env: {
      HOME: process.env['HOME'],
      PATH: `${binaries}${path.delimiter}${process.env['PATH']}`,
      ...env,
    },
    stdio: ['ignore', 'pipe', 'ignore'],
  });
  const [output, [code]] = await Promise.all([text(child.stdout), once(child, 'close')]);
  const lines = output.trimEnd().split('\n');
  const took = lines.findIndex((line) => line.startsWith('took '));
  return { code, last: lines.slice(took + 1), before: lines.slice(0, took) };
};

const FILE = 'red test/run/fixtures/red';
const PATH = '(?<path>[0-9:]+)';

it.concurrent('ends a red run with what broke, each by one line, and runs nothing twice', async () => {
  const folder = mkdtempSync(path.join(tmpdir(), 'runs-'));
  const runs = path.join(folder, 'runs');
  const { code, last, before } = await run('red', { RUNS: runs });
  expect(code).toBe(1);
  expect(readFileSync(runs, 'utf8')).toBe('x');
  rmSync(folder, { recursive: true });

  const replay = last.find((line) => line.startsWith('replay: ')) ?? '';
  expect(replay).toMatch(
    new RegExp(`^replay: SDEWAN_SEED=1 SDEWAN_PATH=${PATH} npx vitest run --config `),
  );
  const property = last.find((line) => line.includes('has a property that fails: ')) ?? '';
  expect(property).toMatch(/: Error: Property failed after 1 tests .*Counterexample: \[1000\]/);
  expect(property).not.toContain('replay');
  expect(last.toSorted()).toEqual(
    [
      `failed: ${FILE}/tests.fixture.ts > a suite > has a test that fails: AssertionError: expected 'this' to be 'that' // Object.is equality`,
      `failed: ${FILE}/tests.fixture.ts > a suite > has a test of a text that fails: AssertionError: expected 'same\\nfound\\nsame\\n' to be 'same\\nwanted\\nsame\\n' // Object.is equality - wanted + found`,
      property,
      replay,
      `failed: ${FILE}/tests.fixture.ts > passes when it runs again: has the option \`retry\`: what fails once has failed`,
      'failed: test/run/fixtures/red/rejects.fixture.ts > leaves a rejection: nobody handled Error: nobody waits for this',
      `failed: ${FILE}/loads.fixture.ts: Error: no such thing`,
      `failed: ${FILE}/cleans.fixture.ts: Error: the hook failed`,
      '3 passed, 7 failed',
    ].toSorted(),
  );
  expect(last.at(-1)).toBe('3 passed, 7 failed');
  expect(before.filter((line) => /^ +\d+\.\d s  red .*fixture\.ts$/.test(line))).toHaveLength(4);
});

it.concurrent('takes a skipped test for a failure with CI=true', async () => {
  expect(await run('skipping', { CI: 'true' })).toMatchObject({
    code: 1,
    last: [
      'failed: skipping test/run/fixtures/skipping/tests.fixture.ts > does not run: skipped, which may not be here',
      '1 passed, 1 failed',
    ],
  });
});

it.concurrent('does not wait for what a test has left running, which is a failure', async () => {
  expect(await run('leaving')).toMatchObject({
    code: 1,
    last: [
      'failed: outside of any file: nobody handled that vitest does not end: a program that a test has started still runs',
      '1 passed, 1 failed',
    ],
  });
});

/** The state of a run without vitest. */
const linesOf = async (stages: readonly Stage[]) => {
  const printed = vi.spyOn(console, 'log').mockReturnValue();
  const code = await runStages(stages);
  const lines = printed.mock.calls.map(([line]: unknown[]) => line);
  printed.mockRestore();
  return { code, last: lines.slice(-2) };
};

it('takes a script that fails for a failure', async () => {
  expect(await linesOf([{ script: 'no-such-script' }])).toEqual({
    code: 1,
    last: ['failed: npm run no-such-script: exit 1', '0 passed, 1 failed'],
  });
});

it('tests on a real node that cannot run are a failure', async () => {
  const stages = await onRealNode(
    'npm run suite node',
    [{ name: 'node' }],
    async () => 'it needs root',
  );
  expect(await linesOf(stages)).toEqual({
    code: 1,
    last: ['failed: npm run suite node: did not run, since it needs root', '0 passed, 1 failed'],
  });
  expect(
    await onRealNode('npm run suite node', [{ name: 'a' }, { name: 'b' }], async () => undefined),
  ).toEqual([{ projects: [{ name: 'a' }] }, { projects: [{ name: 'b' }] }]);
});
