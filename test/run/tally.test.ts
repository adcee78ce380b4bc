import { describe, expect, it } from 'vitest';
import { summaryOf } from './summary.ts';
import { NOTHING, sum, tallyOf, type RunReport, type Tally } from './tally.ts';

type File = RunReport['files'][number];
type Test = File['tests'][number];

const passed: Test = { name: 'does', state: 'passed', mayRetry: false };
const reportOf = (file: Partial<File>, more: Partial<RunReport> = {}): RunReport => ({
  files: [
    {
      project: 'unit',
      file: 'a.test.ts',
      tookMs: 5,
      isFinished: true,
      errors: [],
      tests: [passed],
      ...file,
    },
  ],
  unhandled: [],
  ...more,
});
const files = [{ name: 'unit a.test.ts', tookMs: 5 }];

describe('a run of vitest', () => {
  it.each<[string, RunReport, number | null, Partial<Tally>]>([
    ['passed', reportOf({}), 0, { passed: 1 }],
    [
      'has a failed test',
      reportOf({ tests: [passed, { ...passed, state: 'failed', error: 'no', replay: 'again' }] }),
      1,
      { passed: 1, failures: [{ what: 'unit a.test.ts > does', why: 'no', replay: 'again' }] },
    ],
    [
      'has a test that never ended',
      reportOf({ tests: [{ ...passed, state: 'pending' }] }),
      1,
      { failures: [{ what: 'unit a.test.ts > does', why: 'the test did not come to its end' }] },
    ],
    [
      'has a test that passed and may be retried',
      reportOf({ tests: [{ ...passed, mayRetry: true }] }),
      0,
      {
        failures: [
          {
            what: 'unit a.test.ts > does',
            why: 'has the option `retry`: what fails once has failed',
          },
        ],
      },
    ],
    [
      'has a file whose worker ended',
      reportOf({ isFinished: false }),
      1,
      {
        passed: 1,
        failures: [{ what: 'unit a.test.ts', why: 'the file did not come to its end' }],
      },
    ],
    [
      'has a broken hook, which skips the tests below it',
      reportOf({ errors: ['no'], tests: [{ ...passed, state: 'skipped' }] }),
      1,
      { failures: [{ what: 'unit a.test.ts', why: 'no' }] },
    ],
    [
      'has a skipped test',
      reportOf({ tests: [{ ...passed, state: 'skipped' }] }),
      0,
      { skipped: ['unit a.test.ts > does'] },
    ],
    [
      'left a rejection, with every test passed',
      reportOf({}, { unhandled: [{ file: 'a.test.ts', test: 'does', error: 'Error: no' }] }),
      1,
      {
        passed: 1,
        failures: [{ what: 'a.test.ts > does', why: 'nobody handled Error: no' }],
      },
    ],
    [
      'is red without a reason',
      reportOf({}),
      1,
      { passed: 1, failures: [{ what: 'vitest', why: 'ended with 1 and named no test' }] },
    ],
    [
      'was killed',
      reportOf({}),
      null,
      { passed: 1, failures: [{ what: 'vitest', why: 'ended with null and named no test' }] },
    ],
  ])('%s', (_, report, exitCode, expected) => {
    expect(tallyOf(report, exitCode)).toEqual({ ...NOTHING, files, ...expected });
  });

  it('adds to others', () => {
    const one = tallyOf(reportOf({ errors: ['no'] }), 1);
    expect(sum([one, one])).toEqual({
      passed: 2,
      failures: [...one.failures, ...one.failures],
      skipped: [],
      files: [...files, ...files],
    });
  });
});

describe('the last lines', () => {
  const linesOf = (tally: Partial<Tally>, mayNotSkip = false) =>
    summaryOf({ ...NOTHING, ...tally }, { mayNotSkip, tookMs: 1_000 });

  it('show the error of a failure in one line, without colours', () => {
    const failures = [{ what: 'a >\n b', why: '\n\u001B[31mno\u001B[39m\n- x', replay: 'again' }];
    expect(linesOf({ passed: 2, failures })).toEqual({
      lines: ['took 1.0 s', 'failed: a > b: no - x', 'replay: again', '2 passed, 1 failed'],
      exitCode: 1,
    });
  });

  it('show a thousand characters of an error', () => {
    const failures = [{ what: 'a', why: `${'x'.repeat(999)}yz` }];
    expect(linesOf({ failures }).lines).toContain(`failed: a: ${'x'.repeat(999)}y`);
  });

  it('name the ten slowest files, the slowest first', () => {
    const many = Array.from({ length: 12 }, (_, at) => ({ name: `f${at}`, tookMs: at * 1_000 }));
    const { lines, exitCode } = linesOf({ passed: 12, files: many });
    expect(lines.slice(0, 2)).toEqual(['the slowest files:', '   11.0 s  f11']);
    expect(lines.slice(10)).toEqual(['    2.0 s  f2', 'took 1.0 s', '12 passed, 0 failed']);
    expect(exitCode).toBe(0);
  });

  it('count a skipped test as failed only where none may be skipped', () => {
    const skipped = ['unit a.test.ts > does'];
    expect(linesOf({ passed: 1, skipped })).toEqual({
      lines: ['skipped: unit a.test.ts > does', 'took 1.0 s', '1 passed, 0 failed'],
      exitCode: 0,
    });
    expect(linesOf({ passed: 1, skipped }, true)).toEqual({
      lines: [
        'took 1.0 s',
        'failed: unit a.test.ts > does: skipped, which may not be here',
        '1 passed, 1 failed',
      ],
      exitCode: 1,
    });
  });

  it('report a run without tests as failed', () => {
    expect(linesOf({})).toEqual({
      lines: ['took 1.0 s', 'failed: this run: no test ran', '0 passed, 1 failed'],
      exitCode: 1,
    });
  });
});
