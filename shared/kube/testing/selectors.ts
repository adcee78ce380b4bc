/** Few labels and values, so that selectors often select something. */
import * as fc from 'fast-check';
import type { LabelSelector, Requirement } from '../selector.ts';

const key = fc.constantFrom('a', 'b', 'constructor');
const value = fc.constantFrom('1', '2', '3');

export const labels: fc.Arbitrary<Record<string, string>> = fc.dictionary(key, value, {
  maxKeys: 3,
  noNullPrototype: true,
});

const requirement: fc.Arbitrary<Requirement> = fc.oneof(
  fc.record({
    key,
    operator: fc.constantFrom('In', 'NotIn'),
    values: fc.uniqueArray(value, { minLength: 1, maxLength: 2 }),
  }),
  fc.record({ key, operator: fc.constantFrom('Exists', 'DoesNotExist') }),
);

export const selector: fc.Arbitrary<LabelSelector> = fc.record({
  matchLabels: fc.dictionary(key, value, { maxKeys: 1, noNullPrototype: true }),
  matchExpressions: fc.array(requirement, { maxLength: 2 }),
});
