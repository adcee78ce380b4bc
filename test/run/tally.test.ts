/** What the whole runs of stages.test.ts do not come to. */
import { describe, expect, it } from 'vitest';
import { summaryOf } from './summary.ts';
import { NOTHING, tallyOf, type RunReport, type Tally } from './tally.ts';

type File = RunReport['files'][number];

const reportOf = (
  state: File['tests'][number]['state'] = 'passed',
  more: Partial<File> = {},
): RunReport => ({
  files: [
    {
      project: 'unit',
      file: 'a.test.ts',
      tookMs: 5,
      isFinished: true,
      errors: [],
      tests: [{ name: 'does', state, mayRetry: false }],
      ...more,
    },
  ],
  unhandled: [],
});

it.each<[string, RunReport, number | null, { what: string; why: string }]>([
  [
    'a test that never ended',
    reportOf('pending'),
    1,
    { what: 'unit a.test.ts > does', why: 'the test did not come to its end' },
  ],
  [
    'a file whose worker ended',
    reportOf('passed', { isFinished: false }),
    1,
    { what: 'unit a.test.ts', why: 'the file did not come to its end' },
  ],
  [
    'a run that is red without a reason',
    reportOf(),
    1,
    { what: 'vitest', why: 'ended with 1 and named no test' },
  ],
  [
    'a run that was killed',
    reportOf(),
    null,
    { what: 'vitest', why: 'ended with null and named no test' },
  ],
])('%s is a failure', (_, report, exitCode, failure) => {
  expect(tallyOf(report, exitCode).failures).toEqual([failure]);
});

describe('the last lines', () => {
  const summary = (tally: Partial<Tally>) =>
    summaryOf({ ...NOTHING, ...tally }, { mayNotSkip: false, tookMs: 1_000 });

  it('show a thousand characters of an error, in one line and without colours', () => {
    const why = `\n\u001B[31m${'x'.repeat(998)}\u001B[39m\nyz`;
    expect(summary({ failures: [{ what: 'a', why }] }).lines).toContain(
      `failed: a: ${'x'.repeat(998)} y`,
    );
  });

  it('name the ten slowest files, the slowest first', () => {
    const files = Array.from({ length: 12 }, (_, at) => ({ name: `f${at}`, tookMs: at * 1_000 }));
    const { lines, exitCode } = summary({ passed: 12, files });
    expect(lines.slice(0, 2)).toEqual(['the slowest files:', '   11.0 s  f11']);
    expect(lines.slice(10)).toEqual(['    2.0 s  f2', 'took 1.0 s', '12 passed, 0 failed']);
    expect(exitCode).toBe(0);
  });

  it('name a skipped test, which is no failure where it may be', () => {
    const tally = tallyOf(reportOf('skipped'), 0);
    expect(summary({ ...tally, passed: 1, files: [] })).toEqual({
      lines: ['skipped: unit a.test.ts > does', 'took 1.0 s', '1 passed, 0 failed'],
      exitCode: 0,
    });
  });

  it('report a run without tests as failed', () => {
    expect(summary({})).toEqual({
      lines: ['took 1.0 s', 'failed: this run: no test ran', '0 passed, 1 failed'],
      exitCode: 1,
    });
  });
});
