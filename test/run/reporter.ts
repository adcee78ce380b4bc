/** A reporter for vitest that leaves what the stages count in a file (tally.ts). */
import { writeFileSync } from 'node:fs';
import path from 'node:path';
import { stripVTControlCharacters } from 'node:util';
import type { Reporter, SerializedError, TestCase, TestModule } from 'vitest/node';
import type { RunReport } from './tally.ts';

/** Where the report goes. Without it, as when somebody runs vitest by hand, there is none. */
export const REPORT_VARIABLE = 'SDEWAN_RUN_REPORT';

/** The reporters of a configuration. */
export const reporters = (env: NodeJS.ProcessEnv = process.env): ('default' | Reporter)[] => {
  const output = env[REPORT_VARIABLE];
  return ['default', ...(output === undefined ? [] : [createReporter(output)])];
};

const createReporter = (output: string): Reporter => ({
  onTestRunEnd: (modules, unhandledErrors) => {
    const report: RunReport = {
      files: modules.map(fileReport),
      unhandled: unhandledErrors.map((error) => ({
        file: fileOf(error['VITEST_TEST_PATH']),
        ...(typeof error['VITEST_TEST_NAME'] === 'string' && { test: error['VITEST_TEST_NAME'] }),
        error: textOf(error),
      })),
    };
    writeFileSync(output, JSON.stringify(report));
  },
});

const fileReport = (module: TestModule): RunReport['files'][number] => {
  const { collectDuration, duration } = module.diagnostic();
  const outside = [module, ...module.children.allSuites()].flatMap((suite) => suite.errors());
  return {
    project: module.project.name,
    file: fileOf(module.moduleId),
    tookMs: collectDuration + duration,
    isFinished: module.state() !== 'pending' && module.state() !== 'queued',
    errors: outside.map(textOf),
    tests: [...module.children.allTests()].map(testReport),
  };
};

const testReport = (test: TestCase): RunReport['files'][number]['tests'][number] => {
  const { state, errors } = test.result();
  const [error] = errors ?? [];
  const { replay } = test.meta();
  return {
    name: test.fullName,
    state,
    mayRetry: Boolean(test.options.retry),
    ...(error && { error: textOf(error) }),
    ...(replay !== undefined && { replay }),
  };
};

/** Its message, and of what was compared the lines that differ. */
const textOf = ({ name, message, diff }: SerializedError): string =>
  [name === undefined ? message : `${name}: ${message}`, ...differing(diff)].join('\n');

/** Headings of the two sides, and lines that both have, are left out. */
const differing = (diff: unknown): string[] =>
  typeof diff === 'string'
    ? stripVTControlCharacters(diff)
        .split('\n')
        .filter((line) => /^[-+] (?!Expected|Received)/.test(line))
    : [];

const fileOf = (file: unknown): string =>
  typeof file === 'string' ? path.relative(process.cwd(), file) : 'outside of any file';
