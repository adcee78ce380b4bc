/** A reporter for vitest that leaves what the stages count in a file (tally.ts). */
import { writeFileSync } from 'node:fs';
import path from 'node:path';
import { stripVTControlCharacters } from 'node:util';
import type { Reporter, SerializedError, TestCase, TestModule } from 'vitest/node';
import type { RunReport } from './tally.ts';

/** Where the report goes. Without it, as when a person runs vitest by hand, there is none. */
export const REPORT_VARIABLE = 'SDEWAN_RUN_REPORT';

/** In which global set-ups stop what they have started. */
const END_MS = 120_000;

/**
 * The reporters of a configuration. `endMs`: vitest that has not ended so long after its last test
 * is ended, which is a failure.
 */
export const reporters = (endMs = END_MS): ('default' | Reporter)[] => {
  const output = process.env[REPORT_VARIABLE];
  return ['default', ...(output === undefined ? [] : [createReporter(output, endMs)])];
};

const createReporter = (output: string, endMs: number): Reporter => ({
  onTestRunEnd: (modules, unhandledErrors) => {
    const report: RunReport = {
      files: modules.map(fileReport),
      unhandled: unhandledErrors.map((error) => ({
        file: fileOf(error['VITEST_TEST_PATH']),
        ...(typeof error['VITEST_TEST_NAME'] === 'string' && { test: error['VITEST_TEST_NAME'] }),
        error: textOf(error),
      })),
    };
    const write = (): void => writeFileSync(output, JSON.stringify(report));
    write();
    setTimeout(() => {
      report.unhandled.push({ file: fileOf(undefined), error: NOT_ENDED });
      write();
      process.exit(1);
    }, endMs).unref();
  },
});
/** It waits for the end of what a worker prints, which a program of a test can print, too. */
const NOT_ENDED = 'that vitest does not end: a program that a test has started still runs';

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
