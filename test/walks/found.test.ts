/** What walks have found, shrunk to what it takes. */
import { it } from 'vitest';
import { walk } from './steps.ts';

// Its agent had forgotten the rule, which had left its watch, while its OpenWRT did not answer. Shrunk from thirteen steps.
// oxlint-disable-next-line vitest/expect-expect
it.each([30, 70, 120])(
  'a rule that was given another purpose stays until the pods of the first have removed it: OpenWRT hangs after %i ms',
  (ms) =>
    walk({
      seed: 0,
      steps: [
        { does: 'calls fail', which: 0, how: 0, waitMs: 4_000 },
        { does: 'move to a purpose', which: 0, how: 1, waitMs: ms },
        { does: 'OpenWRT hangs', which: 1, how: 3, waitMs: 2_000 },
        { does: 'delete', which: 0, how: 0, waitMs: 2_500 },
      ],
    }),
);
