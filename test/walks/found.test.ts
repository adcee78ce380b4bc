/** What walks have found, as they found it, by the fault that was mended. */
import { it } from 'vitest';
import { walk, type History } from './steps.ts';

const found: Record<string, History> = {
  // It looked in the second in which the container started, before that had lost its files.
  'an agent that was stopped while OpenWRT restarted makes nothing in sync by what it knew': {
    seed: 0,
    steps: [
      { does: 'kill a coordinator', which: 0, how: 14, waitMs: 0 },
      { does: 'create', which: 0, how: 0, waitMs: 3_488 },
      { does: 'freeze an agent while OpenWRT restarts', which: 0, how: 25, waitMs: 0 },
      { does: 'update', which: 6, how: 20, waitMs: 20 },
      { does: 'events are repeated', which: 9, how: 21, waitMs: 150 },
      { does: 'delete', which: 6, how: 29, waitMs: 0 },
      { does: 'watches are slow', which: 9, how: 1, waitMs: 20 },
      { does: 'delete', which: 5, how: 3, waitMs: 1_497 },
      { does: 'OpenWRT hangs', which: 2, how: 6, waitMs: 0 },
      { does: 'add a pod', which: 4, how: 23, waitMs: 758 },
      { does: 'order', which: 0, how: 4, waitMs: 7_852 },
      { does: 'update', which: 5, how: 16, waitMs: 468 },
      { does: 'delete', which: 8, how: 9, waitMs: 3_045 },
    ],
  },
};

// oxlint-disable-next-line vitest/expect-expect
it.each(Object.entries(found))('%s', (_name, history) => walk(history));

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
