import { describe, expect, it } from 'vitest';
import { outcomeOf, type Outcome } from './report.ts';

type Test = [status: string, ...failureMessages: string[]];

const report = (status: string, message: string, ...tests: Test[]): string =>
  JSON.stringify({
    testResults: [
      {
        name: '/a.test.ts',
        status,
        message,
        assertionResults: tests.map(([state, ...failureMessages], at) => ({
          status: state,
          fullName: `t${at}`,
          failureMessages,
        })),
      },
    ],
  });

describe('a run under a mutant is', () => {
  const cases: Record<string, { text: string; exitCode: number; outcome: Outcome }> = {
    'green where all tests pass': {
      text: report('passed', '', ['passed']),
      exitCode: 0,
      outcome: { state: 'green', files: ['/a.test.ts'] },
    },
    'red where a test fails': {
      text: report('failed', '', ['passed'], ['failed', 'AssertionError: 1 is not 2']),
      exitCode: 1,
      outcome: { state: 'red', by: ['t1'] },
    },
    'broken where a file cannot be loaded': {
      text: report('failed', 'SyntaxError: no export x\n  at …'),
      exitCode: 1,
      outcome: { state: 'broken', why: 'SyntaxError: no export x' },
    },
    'broken where a hook fails': {
      text: report('failed', 'Error: no cluster', ['skipped']),
      exitCode: 1,
      outcome: { state: 'broken', why: 'Error: no cluster' },
    },
    'broken where the patch names what is not there': {
      text: report('failed', '', ['failed', 'ReferenceError: targets is not defined']),
      exitCode: 1,
      outcome: { state: 'broken', why: 'ReferenceError: targets is not defined' },
    },
    'red where another test fails besides': {
      text: report('failed', '', ['failed', 'ReferenceError: x'], ['failed', 'AssertionError: y']),
      exitCode: 1,
      outcome: { state: 'red', by: ['t1'] },
    },
    'broken where vitest fails, and no test does': {
      text: report('passed', '', ['passed']),
      exitCode: 1,
      outcome: { state: 'broken', why: 'vitest ended with 1' },
    },
  };
  it.each(Object.entries(cases))('%s', (_name, { text, exitCode, outcome }) => {
    expect(outcomeOf(text, exitCode)).toEqual(outcome);
  });
});
