/**
 * `npm run suite`: what is tested beside `npm test` (suites.ts).
 *
 *   npm run suite                 what there is, and what has changed since it passed
 *   npm run suite NAME…           these; what passes is recorded in tested.json: commit that
 *   npm run suite -- --due        what has changed, and what is drawn for this commit; so does
 *                                 `.ci/run`
 *   npm run suite -- --all        all
 *   npm run suite -- --house      the numbers of the house
 *   npm run suite PROGRAM         with its own words and options behind `--`
 */
import { spawnSync } from 'node:child_process';
import path from 'node:path';
import { dueSuites, LANES, type Due } from './due.ts';
import { houseLines, houseOf } from './house.ts';
import { say, tallyOfStages, type Stage } from './stages.ts';
import { inputsOf, PROGRAMS, SUITES, type Suite } from './suites.ts';
import { seconds, summaryOf } from './summary.ts';
import { sum, type Tally } from './tally.ts';
import { isTested, runAndRecord } from './tested.ts';

const root = path.resolve(import.meta.dirname, '../..');
const isRoot = process.platform === 'linux' && process.getuid?.() === 0;

type Run = Due & { suite: Suite; stages: readonly Stage[] };
type Outcome = Due & { tally: Tally; tookMs: number; hasPassed: boolean };

const stagesOf = async ({ stages, projects }: Suite): Promise<Stage[]> =>
  stages ? await stages() : [{ projects }];

/** Those that can run here. */
const runsOf = async (all: readonly Due[]): Promise<Run[]> => {
  const runs: Run[] = [];
  for (const due of all) {
    const suite = suiteOf(due.name);
    if (suite.needsRoot && !isRoot)
      say(`${due.name} is left out, and nothing is proven by it: it needs root on Linux`);
    else runs.push({ ...due, suite, stages: await stagesOf(suite) });
  }
  return runs.filter(({ stages }) => stages.length > 0);
};

const suiteOf = (name: string): Suite => {
  const suite = SUITES[name];
  if (!suite) throw new Error(`no suite is called ${name}: ${Object.keys(SUITES).join(', ')}`);
  return suite;
};

const run = ({ name, why, suite, stages }: Run): Promise<Outcome> =>
  runAndRecord(root, { suite: name, inputs: inputsOf(suite) }, async () => {
    const started = Date.now();
    const tally = await tallyOfStages(stages, { isShared: true });
    const tookMs = Date.now() - started;
    const hasPassed = summaryOf(tally, { mayNotSkip: true, tookMs }).exitCode === 0;
    return { name, why, tally, tookMs, hasPassed };
  });

/** What takes longest begins; what measures runs by itself at the end. */
const runAll = async (runs: readonly Run[]): Promise<Outcome[]> => {
  const outcomes: Outcome[] = [];
  const inLanes = async (queue: Run[], lanes: number): Promise<void> => {
    const lane = async (): Promise<void> => {
      for (let next = queue.shift(); next; next = queue.shift()) outcomes.push(await run(next));
    };
    await Promise.all(Array.from({ length: lanes }, lane));
  };
  const sorted = runs.toSorted((one, other) => other.suite.seconds - one.suite.seconds);
  await inLanes(
    sorted.filter(({ suite }) => !suite.isAlone),
    LANES,
  );
  await inLanes(
    sorted.filter(({ suite }) => suite.isAlone),
    1,
  );
  return outcomes;
};

const runDue = async (all: readonly Due[]): Promise<number> => {
  const started = Date.now();
  all.forEach(({ name, why }) => say(`${name} runs: ${why}`));
  const outcomes = await runAll(await runsOf(all));
  if (outcomes.length === 0) {
    say('0 passed, 0 failed');
    return 0;
  }
  const tookMs = Date.now() - started;
  const tally = sum(outcomes.map((each) => each.tally));
  const { lines, exitCode } = summaryOf(tally, { mayNotSkip: true, tookMs });
  say('');
  for (const { name, why, tookMs: took, hasPassed } of outcomes)
    say(`${seconds(took).padStart(9)}  suite ${name}, ${why}: ${hasPassed ? 'passed' : 'FAILED'}`);
  lines.forEach(say);
  return exitCode;
};

/** How many lead to this one. */
const commits = (): number => {
  const { stdout } = spawnSync('git', ['rev-list', '--count', 'HEAD'], { cwd: root });
  return Number(String(stdout));
};

const isNowTested = (name: string): boolean => isTested(root, name, inputsOf(suiteOf(name)));

const table = (): void => {
  for (const [name, suite] of Object.entries(SUITES))
    say(`${name.padEnd(14)} ${isNowTested(name) ? 'passed ' : 'changed'}  ${suite.what}`);
  for (const [name, { what }] of Object.entries(PROGRAMS))
    say(`${name.padEnd(14)} -        ${what}`);
};

const [first, ...rest] = process.argv.slice(2);
const program = first === undefined ? undefined : PROGRAMS[first];
const names = Object.keys(SUITES);
if (first === undefined) table();
else if (program) {
  const file = path.join(import.meta.dirname, program.file);
  process.exitCode = spawnSync(process.execPath, [file, ...rest], { stdio: 'inherit' }).status ?? 1;
} else if (first === '--house') houseLines(houseOf(root)).forEach(say);
else if (first === '--due')
  process.exitCode = await runDue(dueSuites(names, { isTested: isNowTested, commits: commits() }));
else {
  const asked = first === '--all' ? names : [first, ...rest];
  asked.forEach(suiteOf);
  process.exitCode = await runDue(asked.map((name) => ({ name, why: 'asked' })));
}
