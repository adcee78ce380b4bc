/** What one run of vitest came to, counted: pure. The reporter writes it, the stages read it. */
import * as z from 'zod';

const test = z.object({
  /** With those of its suites. */
  name: z.string(),
  /** `pending`: its file or its worker ended before it did. */
  state: z.enum(['passed', 'failed', 'skipped', 'pending']),
  /** The value of vitest's option `retry`. */
  mayRetry: z.boolean(),
  error: z.string().optional(),
  /** The command that runs it again with the same random cases. */
  replay: z.string().optional(),
});

export const runReport = z.object({
  files: z.array(
    z.object({
      /** Names of the vitest configuration. */
      project: z.string(),
      /** From the repository's folder. */
      file: z.string(),
      /** Loading it, its tests and hooks. */
      tookMs: z.number(),
      isFinished: z.boolean(),
      /** What failed outside of its tests: an import, a hook. */
      errors: z.array(z.string()),
      tests: z.array(test),
    }),
  ),
  /** Errors that were not caught and rejections that were not handled, with the file that ran. */
  unhandled: z.array(
    z.object({ file: z.string(), test: z.string().optional(), error: z.string() }),
  ),
});

export type RunReport = z.infer<typeof runReport>;
type FileReport = RunReport['files'][number];
type TestReport = FileReport['tests'][number];

export type Failure = { what: string; why: string; replay?: string | undefined };

export type Tally = {
  passed: number;
  failures: Failure[];
  /**
   * Neither passed nor failed; of files in which nothing failed, since a broken hook skips all
   * tests below it.
   */
  skipped: string[];
  files: { name: string; tookMs: number }[];
};

export const NOTHING: Tally = { passed: 0, failures: [], skipped: [], files: [] };

/** `exitCode`: vitest's own; where it is red, something is, whatever the report names. */
export const tallyOf = ({ files, unhandled }: RunReport, exitCode: number | null): Tally => {
  const failures = [
    ...files.flatMap(failuresOf),
    ...unhandled.map(({ file, test, error }) => ({
      what: [file, ...(test === undefined ? [] : [test])].join(' > '),
      why: `nobody handled ${error}`,
    })),
  ];
  if (failures.length === 0 && exitCode !== 0)
    failures.push({ what: 'vitest', why: `ended with ${exitCode} and named no test` });
  return {
    passed: files.flatMap(({ tests }) => tests.filter(hasPassed)).length,
    failures,
    skipped: files
      .filter((each) => failuresOf(each).length === 0)
      .flatMap((each) =>
        each.tests
          .filter(({ state }) => state === 'skipped')
          .map(({ name }) => `${nameOf(each)} > ${name}`),
      ),
    files: files.map((each) => ({ name: nameOf(each), tookMs: each.tookMs })),
  };
};

const nameOf = ({ project, file }: FileReport): string => `${project} ${file}`;

const hasPassed = ({ state, mayRetry }: TestReport): boolean => state === 'passed' && !mayRetry;

const failuresOf = (each: FileReport): Failure[] => [
  ...each.errors.map((why) => ({ what: nameOf(each), why })),
  ...(each.isFinished ? [] : [{ what: nameOf(each), why: 'the file did not come to its end' }]),
  ...each.tests.flatMap((test): Failure[] => {
    const why = whyFailed(test);
    const what = `${nameOf(each)} > ${test.name}`;
    return why === undefined ? [] : [{ what, why, replay: test.replay }];
  }),
];

const whyFailed = ({ state, mayRetry, error = 'no error' }: TestReport): string | undefined => {
  if (state === 'failed') return error;
  if (state === 'pending') return 'the test did not come to its end';
  return mayRetry ? 'has the option `retry`: what fails once has failed' : undefined;
};

export const sum = (tallies: readonly Tally[]): Tally => ({
  passed: tallies.reduce((total, { passed }) => total + passed, 0),
  failures: tallies.flatMap(({ failures }) => failures),
  skipped: tallies.flatMap(({ skipped }) => skipped),
  files: tallies.flatMap(({ files }) => files),
});
