/** Arbitrary rules for properties, with a status that an earlier roll-up has left. */
import * as fc from 'fast-check';
import { rollup } from '../rule-status/rollup.ts';
import type { Rule } from '../sources/rule.ts';
import { context, factsOf, NOW, podFacts, rule } from './facts.ts';

export const anyRule: fc.Arbitrary<Rule> = fc
  .record({
    deleted: fc.boolean(),
    purpose: fc.option(fc.constant('cnf-1'), { nil: undefined }),
    before: fc.option(podFacts, { nil: undefined }),
    revision: fc.constantFrom('r1', 'r2'),
    updated: fc.boolean(),
  })
  .map(({ deleted, purpose, before, revision, updated }) => {
    const facts = { purpose, revision, deletedAt: deleted ? NOW - 5_000 : undefined };
    const earlier = before && factsOf(before);
    const asOf = updated ? { ...facts, generation: 1, revision: 'r1' } : facts;
    return rule({
      ...facts,
      status:
        earlier &&
        rollup(rule(asOf), earlier.pods, earlier.reports, context({ now: NOW - 60_000 })),
    });
  });
