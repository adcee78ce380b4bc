/** What walks have found, shrunk to what it takes. */
import { it } from 'vitest';
import { walk } from './steps.ts';

// Its agent had forgotten the rule, which had left its watch, while its OpenWRT did not answer.
// Shrunk from thirteen steps.
// oxlint-disable-next-line vitest/expect-expect
it.each([30, 70, 120])(
  'keeps a rule that was given another purpose until the pods of the first have removed it: OpenWRT hangs after %i ms',
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

// The report about the spec in between was lost with the coordinator that received it; the one
// before it said the same revision.
// oxlint-disable-next-line vitest/expect-expect
it('takes a rule that asks again for what it asked for before for in sync once its pods have reported so anew', () =>
  walk({
    seed: 116_965_787,
    steps: [
      { does: 'create', which: 0, how: 3, waitMs: 840 },
      { does: 'an administrator removes', which: 0, how: 0, waitMs: 150 },
      { does: 'reports go astray', which: 0, how: 2, waitMs: 20 },
      { does: 'update', which: 2, how: 25, waitMs: 364 },
      { does: 'delete', which: 0, how: 0, waitMs: 20 },
      { does: 'stop a coordinator', which: 0, how: 2, waitMs: 4_792 },
      { does: 'update', which: 2, how: 0, waitMs: 0 },
      { does: 'OpenWRT refuses', which: 0, how: 4, waitMs: 0 },
      { does: 'reports go astray', which: 0, how: 5, waitMs: 269 },
    ],
  }));

// The generation of the rule stayed, and its agent, which waited for an answer, went on saying what
// it had read before.
// oxlint-disable-next-line vitest/expect-expect
it('takes no rule whose order changes and changes back for in sync by what an agent read before OpenWRT fell silent', () =>
  walk({
    seed: 1_123_995_898,
    steps: [
      { does: 'OpenWRT hangs', which: 3, how: 0, waitMs: 0 },
      { does: 'an administrator removes', which: 1, how: 3, waitMs: 0 },
      { does: 'order', which: 8, how: 0, waitMs: 0 },
      { does: 'delete', which: 0, how: 0, waitMs: 5_885 },
      { does: 'order', which: 8, how: 2, waitMs: 0 },
      { does: 'watches end', which: 0, how: 0, waitMs: 0 },
    ],
  }));

// The agent knew of one coordinator, since the leader had been killed; that one refused what it was
// told, and then led by what it had been told before.
// oxlint-disable-next-line vitest/expect-expect
it('lets a coordinator that comes to lead go by what agents have last reported to it, also while it did not lead', () =>
  walk({
    seed: 412_642_768,
    steps: [
      { does: 'an administrator removes', which: 0, how: 0, waitMs: 258 },
      { does: 'order', which: 0, how: 0, waitMs: 9_427 },
      { does: 'OpenWRT refuses', which: 0, how: 1, waitMs: 8_475 },
      { does: 'freeze an agent while OpenWRT restarts', which: 5, how: 0, waitMs: 349 },
      { does: 'kill a coordinator', which: 5, how: 3, waitMs: 1_310 },
      { does: 'an administrator removes', which: 0, how: 0, waitMs: 0 },
      { does: 'an administrator removes', which: 0, how: 0, waitMs: 0 },
      { does: 'delete', which: 0, how: 0, waitMs: 573 },
    ],
  }));

// It led before its watch, which had ended, told it of the pod that had come while it stood still,
// and whose OpenWRT does not answer.
// oxlint-disable-next-line vitest/expect-expect
it.each([0, 2, 99])(
  'lets a coordinator that has stood still and comes to lead know of the pods that have come meanwhile: seed %i',
  (seed) =>
    walk({
      seed,
      steps: [
        { does: 'create', which: 0, how: 0, waitMs: 2_000 },
        { does: 'remove a pod', which: 1, how: 0, waitMs: 6_000 },
        { does: 'update', which: 0, how: 1, waitMs: 25 },
        { does: 'freeze a coordinator', which: 1, how: 2, waitMs: 0 },
        { does: 'stop a coordinator', which: 0, how: 9, waitMs: 20 },
        { does: 'watches are slow', which: 0, how: 1, waitMs: 0 },
        { does: 'watches end', which: 0, how: 0, waitMs: 0 },
        { does: 'add a pod', which: 1, how: 0, waitMs: 20 },
        { does: 'OpenWRT hangs', which: 1, how: 3, waitMs: 8_000 },
      ],
    }),
);
