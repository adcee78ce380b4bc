/**
 * Runs stages one after the other, and says at the end what broke. A stage that fails does not stop
 * the next ones, so that one run shows all. No test is run a second time: what fails once has
 * failed. With CI=true a skipped test of ours is a failure.
 */
import { spawn, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { createInterface } from 'node:readline';
import { COMPILE_CACHE } from '../stack/compile-cache.ts';
import { REPORT_VARIABLE } from './reporter.ts';
import { seconds, summaryOf } from './summary.ts';
import { NOTHING, runReport, sum, tallyOf, type Tally } from './tally.ts';

/** Projects of the vitest configuration. */
export type Project = {
  name: string;
  /** Filters of its test files; none: all. */
  files?: readonly string[];
  /** `1/2`: the first of two parts of its files. */
  shard?: string;
  env?: Readonly<Record<string, string>>;
};

export type Stage =
  /** Scripts of package.json. */
  | { script: string }
  /** Rows of stages, each row beside the others. */
  | { beside: readonly (readonly Stage[])[] }
  /**
   * Run at the same time: each starts a control plane of its own, and waits more than it computes.
   */
  | { projects: readonly Project[] }
  /** What should run and cannot: that is a failure. */
  | { cannotRun: string; because: string };

type Options = { config?: string; mayNotSkip?: boolean };

const CONFIG = 'test/vitest.config.ts';
export const say = (line: string): void => console.log(line);
const root = path.resolve(import.meta.dirname, '../..');

/** The exit code for all of them. */
export const runStages = async (
  stages: readonly Stage[],
  { config = CONFIG, mayNotSkip = process.env['CI'] === 'true' }: Options = {},
): Promise<number> => {
  const started = Date.now();
  const tally = await tallyOfStages(stages, { config });
  const { lines, exitCode } = summaryOf(tally, { mayNotSkip, tookMs: Date.now() - started });
  say('');
  lines.forEach(say);
  return exitCode;
};

/** `isShared`: others print as well. */
export const tallyOfStages = async (
  stages: readonly Stage[],
  { config = CONFIG, isShared = false }: { config?: string; isShared?: boolean } = {},
): Promise<Tally> => {
  const tallies: Tally[] = [];
  for (const stage of stages) tallies.push(...(await runStage(stage, { config, isShared })));
  return sum(tallies);
};

const runStage = async (
  stage: Stage,
  { config, isShared }: { config: string; isShared: boolean },
): Promise<Tally[]> => {
  if ('cannotRun' in stage) return [failed(stage.cannotRun, `did not run, since ${stage.because}`)];
  if ('beside' in stage)
    return Promise.all(stage.beside.map((row) => tallyOfStages(row, { config, isShared: true })));
  if ('script' in stage) {
    say(`\n━━ ${stage.script}`);
    return [await timed(stage.script, () => runScript(stage.script, isShared))];
  }
  const { projects } = stage;
  say(`\n━━ ${projects.map(titleOf).join(' and ')}`);
  const isAmongOthers = projects.length > 1 || isShared;
  return await Promise.all(
    projects.map((each) => timed(titleOf(each), () => runVitest(each, config, isAmongOthers))),
  );
};

const titleOf = ({ name, shard }: Project): string => [name, shard].filter(Boolean).join(' ');

/** A project's files in so many parts at the same time. */
export const inParts = (project: Project, count: number): Project[] =>
  Array.from({ length: count }, (_, at) => ({ ...project, shard: `${at + 1}/${count}` }));

const timed = async (name: string, run: () => Promise<Tally>): Promise<Tally> => {
  const started = Date.now();
  const tally = await run();
  const { passed, failures } = tally;
  say(`━━ ${name}: ${passed} passed, ${failures.length} failed, ${seconds(Date.now() - started)}`);
  return tally;
};

const failed = (what: string, why: string): Tally => ({ ...NOTHING, failures: [{ what, why }] });

const runScript = async (script: string, isShared: boolean): Promise<Tally> => {
  const child = start('npm', ['run', '--silent', ...script.split(' ')], { isShared });
  const [code] = await once(child, 'close');
  return code === 0 ? { ...NOTHING, passed: 1 } : failed(`npm run ${script}`, `exit ${code}`);
};

/** `isShared`: others print as well, so that it may neither move the cursor nor break lines. */
const start = (
  program: string,
  args: readonly string[],
  { isShared, env }: { isShared: boolean; env?: NodeJS.ProcessEnv },
): ChildProcess => {
  const stdio = isShared ? 'pipe' : 'inherit';
  const child = spawn(program, args, {
    cwd: root,
    env: { ...process.env, ...env },
    stdio: ['inherit', stdio, stdio],
  });
  for (const stream of [child.stdout, child.stderr])
    if (stream) createInterface({ input: stream }).on('line', say);
  return child;
};

const runVitest = async (
  { name, files = [], shard, env = {} }: Project,
  config: string,
  isShared: boolean,
): Promise<Tally> => {
  const folder = mkdtempSync(path.join(tmpdir(), 'sdewan-test-'));
  const output = path.join(folder, 'report.json');
  const part = shard === undefined ? [] : [`--shard=${shard}`];
  const args = ['run', `--config=${config}`, `--project=${name}`, ...part, ...files];
  const child = start('vitest', args, {
    isShared,
    env: { ...COMPILE_CACHE, ...env, [REPORT_VARIABLE]: output },
  });
  const [exitCode] = await once(child, 'close');
  try {
    return tallyOf(runReport.parse(JSON.parse(readFileSync(output, 'utf8'))), exitCode);
  } catch (error) {
    return failed(name, `vitest ended with ${exitCode} and left no report: ${String(error)}`);
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
};
