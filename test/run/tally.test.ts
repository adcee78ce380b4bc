import { describe, expect, it } from 'vitest';
import { flakyOf, isRed, settle, talliesOf, type FileTally } from './tally.ts';

const tally = (file: string, parts: Partial<FileTally> = {}): FileTally => ({
  file,
  passed: [],
  failed: [],
  skipped: [],
  broken: false,
  ...parts,
});

describe('a report', () => {
  const report = (status: string, ...states: string[]): string =>
    JSON.stringify({
      success: status === 'passed',
      testResults: [
        {
          name: '/a.test.ts',
          status,
          assertionResults: states.map((state, at) => ({ status: state, fullName: `t${at}` })),
        },
      ],
    });

  it.each<[string, string, FileTally]>([
    ['passed', report('passed', 'passed'), tally('/a.test.ts', { passed: ['t0'] })],
    ['a failed test', report('failed', 'failed'), tally('/a.test.ts', { failed: ['t0'] })],
    ['a skipped test', report('passed', 'todo'), tally('/a.test.ts', { skipped: ['t0'] })],
    ['a broken file', report('failed'), tally('/a.test.ts', { broken: true })],
  ])('%s', (_, text, expected) => {
    expect(talliesOf(text)).toEqual([expected]);
  });

  it('that is none throws', () => {
    expect(() => talliesOf('{}')).toThrow('testResults');
  });
});

describe('a second run', () => {
  const first = [
    tally('/good', { passed: ['g'] }),
    tally('/flaky', { passed: ['x'], failed: ['y'] }),
    tally('/bad', { failed: ['z'] }),
    tally('/unloaded', { broken: true }),
  ];

  it('decides on its files only', () => {
    const second = [
      tally('/flaky', { passed: ['x', 'y'] }),
      tally('/bad', { failed: ['z'] }),
      tally('/unloaded', { passed: ['u'] }),
    ];
    expect(settle(first, second).filter(isRed)).toEqual([tally('/bad', { failed: ['z'] })]);
    expect(flakyOf(first, second)).toEqual(['y', '/unloaded']);
  });

  it('that never came changes nothing', () => {
    expect(settle(first, [])).toEqual(first);
    expect(flakyOf(first, [])).toEqual([]);
  });

  it('forgets no test that failed before and did not run again', () => {
    const second = [tally('/flaky', { passed: ['x'], skipped: ['y'] })];
    expect(flakyOf(first, second)).toEqual([]);
  });
});
