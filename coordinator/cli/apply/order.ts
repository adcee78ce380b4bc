/** Rules by what they refer to. Pure. */
import { referencesOf } from '#shared/compile/check.ts';
import type { RuleObject } from '#shared/kube/objects.ts';
import { purposeOf } from '../../views/cluster-facts.ts';

/**
 * Groups of which each refers to rules of those before it alone. Rules that refer to each other in
 * a circle are the last group: the API server says what is wrong with them.
 */
export const inOrder = (rules: readonly RuleObject[]): RuleObject[][] => {
  const groups: RuleObject[][] = [];
  let left = [...rules];
  while (left.length > 0) {
    const names = new Set(left.map(keyOf));
    const isFree = (rule: RuleObject): boolean =>
      referencesOf(rule).every(
        ({ kind, name }) =>
          !names.has(keyFor(rule, kind, name)) || keyFor(rule, kind, name) === keyOf(rule),
      );
    const free = left.filter(isFree);
    const group = free.length > 0 ? free : left;
    groups.push(group);
    const done = new Set(group);
    left = left.filter((rule) => !done.has(rule));
  }
  return groups;
};

const keyFor = (rule: RuleObject, kind: string, name: string): string =>
  JSON.stringify([rule.metadata.namespace, purposeOf(rule), kind, name]);

const keyOf = (rule: RuleObject): string => keyFor(rule, rule.kind, rule.metadata.name);
