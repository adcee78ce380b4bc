import { describe, expect, it } from 'vitest';
import { ORDER_ANNOTATION } from '../names.ts';
import type { RuleObject } from '../kube/objects.ts';
import type { UciSection } from '../uci/model.ts';
import { pinnedIn } from './pinned.ts';
import { namedSection, ruleOf } from './testing.ts';
import type { CompileResult, Verdict } from './types.ts';

const PACKAGE = 'firewall';

type Given = {
  name: string;
  type?: string;
  /** The place of its rule; `annotation`: the place that it asks for. */
  order?: string;
  /** ICN's controller made it. */
  taken?: boolean;
  /** Not on OpenWRT yet. */
  isNew?: boolean;
  /** What becomes of its rule; default: it is wanted. */
  rule?: 'wanted' | 'waits' | 'removed' | 'gone';
};

const uidOf = (name: string): string => `FirewallRule-${name}`;

/** The sections that stay, of those in this order. */
const stay = (...given: Given[]): string[] => {
  const section = ({ name, type = 'rule' }: Given): UciSection => namedSection(type, name);
  const ruleFor = ({ name, order }: Given): RuleObject =>
    ruleOf(
      'FirewallRule',
      name,
      {},
      order === undefined ? {} : { annotations: { [ORDER_ANNOTATION]: order } },
    );
  const isWanted = ({ rule = 'wanted' }: Given): boolean => rule === 'wanted';
  const verdicts = given
    .filter(({ rule }) => rule !== 'gone')
    .map((one): Verdict => ({
      rule: ruleFor(one),
      revision: '',
      verdict: one.rule === 'removed' ? 'unwanted' : isWanted(one) ? 'wanted' : 'pending',
      reason: 'Applying',
      message: '',
      generationInForce: isWanted(one) ? 1 : undefined,
      // One of its sections is in another package, under the same name.
      sections: isWanted(one)
        ? [
            { package: PACKAGE, name: one.name },
            { package: 'network', name: `${one.name}-elsewhere` },
          ]
        : [],
    }));
  const result: CompileResult = {
    desired: new Map([[PACKAGE, given.filter(isWanted).map(section)]]),
    verdicts,
  };
  const taken = given.filter((one) => one.taken);
  const takenOver = new Map(taken.map(({ name }) => [`${PACKAGE}.${name}`, uidOf(name)]));
  const sections = given.filter(({ isNew }) => !isNew).map(section);
  return [...pinnedIn({ name: PACKAGE, sections }, takenOver, result)];
};

describe('what stays in its place of the sections that ICN made', () => {
  it('includes those that are wanted, and only they', () => {
    expect(stay({ name: 'a', taken: true }, { name: 'b' })).toEqual(['a']);
  });

  it('includes those whose rule cannot be applied now', () => {
    expect(stay({ name: 'a', taken: true, rule: 'waits' })).toEqual(['a']);
  });

  it('includes none whose rule is being deleted, or is gone', () => {
    expect(stay({ name: 'a', taken: true, rule: 'removed' })).toEqual([]);
    expect(stay({ name: 'a', taken: true, rule: 'gone' })).toEqual([]);
  });

  it('includes those whose orders are those in which they stand', () => {
    const sorted = [
      { name: 'a', taken: true, order: '1' },
      { name: 'b', taken: true, order: '1' },
      { name: 'c', taken: true, order: '2' },
    ];
    expect(stay(...sorted)).toEqual(['a', 'b', 'c']);
  });

  it('includes none of a type of which one asks for another place', () => {
    const [first, second] = [
      { name: 'a', taken: true, order: '2' },
      { name: 'b', taken: true, order: '1' },
    ];
    expect(stay(first, second, { name: 'z', type: 'zone', taken: true })).toEqual(['z']);
  });

  it('includes none before which a new one of ours has to stand', () => {
    const icns = { name: 'a', taken: true, order: '1' };
    expect(stay(icns, { name: 'n', order: '0', isNew: true })).toEqual([]);
    expect(stay(icns, { name: 'n', order: '1', isNew: true })).toEqual(['a']);
  });

  it('includes sections wherever two of ours stand to each other, which are moved by themselves', () => {
    const ours = [
      { name: 'x', order: '5' },
      { name: 'y', order: '3' },
    ];
    expect(stay({ name: 'a', taken: true, order: '1' }, ...ours)).toEqual(['a']);
    expect(stay({ name: 'a', taken: true, order: '4' }, ...ours)).toEqual([]);
    expect(stay(...ours, { name: 'a', taken: true, order: '4' })).toEqual([]);
    expect(stay(...ours, { name: 'a', taken: true, order: '5' })).toEqual(['a']);
  });
});
