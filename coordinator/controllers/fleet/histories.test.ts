/**
 * Random histories of a roll-out in a time of their own: a model of what Kubernetes and the agents
 * do, in which pods crash, agents fall silent, rules and templates change, and the coordinator is
 * cut off between any two of its calls.
 */
import * as fc from 'fast-check';
import { expect, it } from 'vitest';
import { caseCount } from '#shared/runtime/testing.ts';
import { RollOutModel, type Step } from './testing/model.ts';

const HISTORIES = Math.min(caseCount(100), 10_000);

const calmSteps: fc.Arbitrary<Step> = fc.oneof(
  {
    weight: 6,
    arbitrary: fc.record({
      do: fc.constant('time' as const),
      seconds: fc.integer({ min: 1, max: 20 }),
    }),
  },
  {
    weight: 3,
    arbitrary: fc.record({
      do: fc.constant('look' as const),
      calls: fc.integer({ min: 0, max: 4 }),
    }),
  },
  fc.record({ do: fc.constant('template' as const), bad: fc.boolean() }),
  fc.record({ do: fc.constant('rule' as const), rule: fc.nat(2), bad: fc.boolean() }),
  fc.record({ do: fc.constant('promote' as const) }),
  fc.record({ do: fc.constant('agents' as const), silent: fc.boolean(), pod: fc.nat(5) }),
);

const wildSteps: fc.Arbitrary<Step> = fc.oneof(
  { weight: 5, arbitrary: calmSteps },
  fc.record({ do: fc.constant('crash' as const), pod: fc.nat(5) }),
  fc.record({ do: fc.constant('delete' as const), pod: fc.nat(5) }),
  fc.record({ do: fc.constant('coordinator' as const), runs: fc.boolean() }),
);

const SOAKS = [0, 1, 5, 30];

it.each(SOAKS.flatMap((soakSeconds) => [1, 2, 3].map((replicas) => ({ replicas, soakSeconds }))))(
  'takes no traffic away by a newer template at any second of a roll-out of $replicas pods that soak for $soakSeconds s',
  (kind) => {
    for (let seconds = 0; seconds < 60; seconds += 1) {
      const model = new RollOutModel({ ...kind, podByPod: false });
      model.begin();
      model.take({ do: 'template', bad: false });
      model.take({ do: 'time', seconds });
      model.take({ do: 'template', bad: false });
      model.settle();
      model.expectNoFewerThanReplicas();
      model.expectToHaveEnded();
      expect(model.rolled).toBeGreaterThan(0);
    }
  },
);

const histories = (steps: fc.Arbitrary<Step>) =>
  fc.record({
    replicas: fc.integer({ min: 1, max: 3 }),
    podByPod: fc.boolean(),
    soakSeconds: fc.constantFrom(...SOAKS),
    steps: fc.array(steps, { minLength: 5, maxLength: 60 }),
  });

it.each([
  ['rules, templates and agents change', calmSteps, true],
  ['pods and coordinators end as well', wildSteps, false],
])(
  `takes in no step the last traffic away, and ends right, in ${HISTORIES} histories in which %s`,
  (_, steps, isCalm) => {
    let rolled = 0;
    fc.assert(
      fc.property(histories(steps), ({ steps: history, ...kind }) => {
        const model = new RollOutModel(kind);
        model.begin();
        for (const step of history) {
          model.take(step);
          model.expectOneNearest();
          if (isCalm) model.expectNoFewerThanReplicas();
        }
        model.settle();
        model.expectToHaveEnded();
        rolled += model.rolled;
      }),
      { numRuns: HISTORIES },
    );
    // A model in which nothing is ever handed over would prove nothing.
    expect(rolled).toBeGreaterThan(HISTORIES / 10);
  },
  Math.max(60_000, 100 * HISTORIES),
);
