/** What vitest's JSON report says, counted. A test counts by the last run that it was in. */
import * as z from 'zod';

/** The part of the report that is counted. */
const vitestReport = z.object({
  success: z.boolean(),
  testResults: z.array(
    z.object({
      name: z.string(),
      status: z.string(),
      assertionResults: z.array(z.object({ status: z.string(), fullName: z.string() })),
    }),
  ),
});

export type FileTally = {
  /** Absolute path. */
  file: string;
  passed: string[];
  failed: string[];
  /** Neither passed nor failed. */
  skipped: string[];
  /** Something outside of its tests failed: an import, a hook. */
  broken: boolean;
};

/** One tally per test file. @throws SyntaxError | ZodError where the text is no such report */
export const talliesOf = (report: string): FileTally[] =>
  vitestReport.parse(JSON.parse(report)).testResults.map(({ name, status, assertionResults }) => {
    const named = (wanted: (status: string) => boolean): string[] =>
      assertionResults.filter((test) => wanted(test.status)).map(({ fullName }) => fullName);
    const failed = named((state) => state === 'failed');
    return {
      file: name,
      passed: named((state) => state === 'passed'),
      failed,
      skipped: named((state) => state !== 'passed' && state !== 'failed'),
      broken: status === 'failed' && failed.length === 0,
    };
  });

export const isRed = ({ failed, broken }: FileTally): boolean => broken || failed.length > 0;

/** The first run, with the files that ran again taken from the second. */
export const settle = (first: readonly FileTally[], second: readonly FileTally[]): FileTally[] =>
  first.map((tally) => second.find(({ file }) => file === tally.file) ?? tally);

/** What failed in the first run and not in the second: tests, or a file when it was broken. */
export const flakyOf = (first: readonly FileTally[], second: readonly FileTally[]): string[] =>
  second.flatMap((again) => {
    const before = first.find(({ file }) => file === again.file);
    if (!before) return [];
    const mended = before.failed.filter((test) => again.passed.includes(test));
    return before.broken && !again.broken ? [again.file, ...mended] : mended;
  });
