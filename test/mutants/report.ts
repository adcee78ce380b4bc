/** What a run under a mutant proves, out of vitest's JSON report: only a test that failed is a proof. Pure. */
import * as z from 'zod';

export type Outcome =
  | { state: 'green'; files: readonly string[] }
  /** `by`: the tests that failed. */
  | { state: 'red'; by: readonly string[] }
  /** Something else than a test failed: a module that cannot be loaded, a hook, the run itself. */
  | { state: 'broken'; why: string };

const vitestReport = z.object({
  testResults: z.array(
    z.object({
      name: z.string(),
      status: z.string(),
      message: z.string().optional(),
      assertionResults: z.array(
        z.object({
          status: z.string(),
          fullName: z.string(),
          failureMessages: z.array(z.string()).nullish(),
        }),
      ),
    }),
  ),
});

/** A patch that names what is not there fails any test: that is a fault of the patch. */
const IS_OF_THE_PATCH = /^(ReferenceError|SyntaxError): /;

/** `exitCode`: vitest's. */
export const outcomeOf = (report: string, exitCode: number | null): Outcome => {
  const { testResults } = vitestReport.parse(JSON.parse(report));
  const failed = testResults
    .flatMap(({ assertionResults }) => assertionResults)
    .filter(({ status }) => status === 'failed');
  const proofs = failed.filter(
    ({ failureMessages }) => !failureMessages?.some((message) => IS_OF_THE_PATCH.test(message)),
  );
  if (proofs.length > 0) return { state: 'red', by: proofs.map(({ fullName }) => fullName) };
  const messages = [
    ...failed.flatMap(({ failureMessages }) => failureMessages ?? []),
    ...testResults.flatMap(({ status, message }) => (status === 'failed' ? [message ?? ''] : [])),
  ];
  const why = messages.find((message) => message !== '')?.split('\n')[0];
  if (why !== undefined) return { state: 'broken', why };
  if (exitCode !== 0) return { state: 'broken', why: `vitest ended with ${exitCode}` };
  return { state: 'green', files: testResults.map(({ name }) => name) };
};
