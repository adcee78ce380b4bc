/** Against a model of fw4, as a device shows it. */
import * as fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { namedSection } from '#shared/compile/testing.ts';
import { caseCount, SEED } from '#shared/runtime/testing.ts';
import type { UciPackage, UciSection } from '#shared/uci/model.ts';
import { isCarriedOut, isSame, stepsOf, textsIn, type Step } from './amendment.ts';
import { excerptOf } from './excerpt.ts';
import { listingIn, printedIn, withoutHandles, type Listing, type NftRule } from './listing.ts';
import { modelText } from './testing.ts';

const ZONES = ['lan', 'wan'];
const firewall = (...sections: UciSection[]): UciPackage => ({
  name: 'firewall',
  sections: [
    namedSection('defaults', 'd'),
    ...ZONES.map((name) => namedSection('zone', `z_${name}`, { name })),
    ...sections,
  ],
});
const rule = (name: string, options: UciSection['options'] = {}): UciSection =>
  namedSection('rule', `s_${name}`, { name, src: 'lan', target: 'accept', ...options });
const dnat = (name: string, options: UciSection['options'] = {}): UciSection =>
  namedSection('redirect', `s_${name}`, { name, src: 'wan', dest_ip: '10.1.1.1', ...options });

const viewOf = (content: UciPackage, firstHandle = 1): Listing =>
  listingIn(modelText(content, firstHandle));
/** `fw4 print` has no handles. */
const printOf = (content: UciPackage): Listing => printedIn(withoutHandles(modelText(content, 1)));

/** As nft carries them out, one after the other. */
const stepped = ({ chains, others }: Listing, made: Listing, steps: readonly Step[]): Listing => {
  const next = new Map([...chains].map(([name, chain]) => [name, { ...chain }]));
  for (const step of steps) {
    const chain = next.get(step.chain);
    const at = chain?.rules.findIndex(({ handle }) => handle === step.handle) ?? -1;
    if (chain === undefined || at === -1) throw new Error('nft knows no such rule');
    const rule = (place: number): NftRule => {
      const text = made.chains.get(step.chain)?.rules[place - 1]?.text;
      if (text === undefined) throw new Error('fw4 has made no such rule');
      return { text, handle: 9_999 };
    };
    chain.rules =
      step.verb === 'delete'
        ? chain.rules.toSpliced(at, 1)
        : chain.rules.toSpliced(step.verb === 'add' ? at + 1 : at, 0, rule(step.place));
  }
  return { chains: next, others };
};

/**
 * The table that a change without a reload leaves; undefined where a reload has to bring it, at
 * once or when the table is read back.
 */
const amend = (
  before: UciPackage,
  after: UciPackage,
  loaded: Listing = viewOf(before, 1_000),
): Listing | undefined => {
  const excerpt = excerptOf(before, after);
  const printed = excerpt && { before: printOf(excerpt.before), after: printOf(excerpt.after) };
  const steps = excerpt && printed && stepsOf({ excerpt, after, printed, loaded });
  if (!steps) return undefined;
  const made = viewOf(excerpt.after);
  const now = stepped(loaded, made, steps);
  return isCarriedOut({ steps, loaded, made, now }) ? now : undefined;
};
const isAsAfterReload = (now: Listing | undefined, after: UciPackage): boolean =>
  now !== undefined && isSame(textsIn(now), textsIn(viewOf(after)));

const base = [
  rule('a'),
  rule('b', { dest: 'wan' }),
  rule('c'),
  rule('d', { dest: 'wan' }),
  rule('e'),
  dnat('x'),
  dnat('y'),
];
const without = (name: string): UciSection[] => base.filter((one) => one.name !== `s_${name}`);
const withChanged = (changed: UciSection): UciSection[] =>
  base.map((one) => (one.name === changed.name ? changed : one));

describe('the table is as after a reload when', () => {
  it.each<[string, UciSection[]]>([
    ['a rule changes', withChanged(rule('c', { dest_port: '9' }))],
    ['the first rule changes', withChanged(rule('a', { target: 'drop' }))],
    ['a rule changes to fewer protocols', withChanged(rule('a', { proto: 'tcp' }))],
    ['a rule changes its chain', withChanged(rule('c', { dest: 'wan' }))],
    ['a redirect changes', withChanged(dnat('y', { dest_ip: '10.1.1.2' }))],
    ['a rule goes', without('c')],
    ['a redirect goes', without('y')],
    ['a rule comes last', [...base, rule('f')]],
    ['a rule comes first', [rule('f'), ...base]],
    ['a rule comes in between', [...base.slice(0, 2), rule('f'), ...base.slice(2)]],
    ['two rules come side by side', [...base, rule('f'), rule('g')]],
    ['a redirect comes', [...base, dnat('z')]],
    [
      'one comes, one goes and one changes',
      [...without('c').slice(1), rule('f')].with(0, rule('b', { dest: 'wan', dest_port: '7' })),
    ],
  ])('%s', (_what, sections) => {
    const after = firewall(...sections);
    const now = amend(firewall(...base), after);
    expect(now && textsIn(now)).toEqual(textsIn(viewOf(after)));
  });
});

it('leaves the table as after a reload when a rule changes that is alone in its chain', () => {
  const after = firewall(rule('a', { dest_port: '9' }));
  expect(isAsAfterReload(amend(firewall(rule('a')), after), after)).toBe(true);
});

it('leaves the table as after a reload when the rule that changes is another one in the kernel', () => {
  const after = firewall(...withChanged(rule('c', { dest_port: '9' })));
  const loaded = viewOf(firewall(...withChanged(rule('c', { dest_port: '5' }))), 1_000);
  expect(isAsAfterReload(amend(firewall(...base), after, loaded), after)).toBe(true);
});

describe('the table is read back, and is not as it is to be when', () => {
  const before = firewall(...base);
  const after = firewall(...withChanged(rule('c', { dest_port: '9' })));
  const loaded = viewOf(before, 1_000);
  const now = viewOf(after, 1_000);
  const others = viewOf(firewall(...withChanged(rule('c', { dest_port: '9' })), rule('f')), 1_000);
  const excerpt = excerptOf(before, after);
  const printed = excerpt && { before: printOf(excerpt.before), after: printOf(excerpt.after) };
  const steps = (excerpt && printed && stepsOf({ excerpt, after, printed, loaded })) ?? [];
  const made = viewOf(excerpt?.after ?? after);

  it.each<[string, Listing]>([
    ['nothing has changed', loaded],
    ['somebody has added a rule', others],
    ['a rule has gone meanwhile', viewOf(firewall(...base.slice(1)), 1_000)],
  ])('%s', (_what, found) => {
    expect(isCarriedOut({ steps, loaded, made, now })).toBe(true);
    expect(isCarriedOut({ steps, loaded, made, now: found })).toBe(false);
  });

  it('nft has a rule in other words than fw4 makes it of', () => {
    const other = viewOf(firewall(...withChanged(rule('c', { dest_port: '10' }))), 1_000);
    expect(isCarriedOut({ steps, loaded, made, now: other })).toBe(false);
  });
});

describe('a reload is needed when', () => {
  const last = rule('f');
  it.each<[string, UciPackage, UciPackage]>([
    ['nothing changes', firewall(...base), firewall(...base)],
    ['rules change places', firewall(...base), firewall(rule('e'), ...without('e'))],
    [
      'a rule changes and moves',
      firewall(...base),
      firewall(rule('e', { proto: 'tcp' }), ...without('e')),
    ],
    ['two sections have its name', firewall(...base), firewall(...base, dnat('a'))],
    [
      'the first rule to a zone brings a chain',
      firewall(...without('b').filter(({ name }) => name !== 's_d')),
      firewall(...without('d')),
    ],
    [
      'the last rule to a zone takes a chain away',
      firewall(...without('d')),
      firewall(...without('b').filter(({ name }) => name !== 's_d')),
    ],
    ['a zone comes', firewall(), firewall(namedSection('zone', 'z', { name: 'z' }), last)],
    [
      'others include text',
      firewall(...base, namedSection('include', 'i', { path: '/etc/x' })),
      firewall(...base, namedSection('include', 'i', { path: '/etc/x' }), last),
    ],
    [
      'more change than is worth it',
      firewall(...base),
      firewall(...base, ...Array.from({ length: 51 }, (_, at) => rule(`n${at}`))),
    ],
  ])('%s', (_what, before, after) => {
    expect(amend(before, after)).toBeUndefined();
  });

  it.each<[string, UciPackage]>([
    ['the rule to change is not in the kernel', firewall(...without('c'))],
    [
      'the rule to change has more rules in the kernel',
      firewall(...withChanged(rule('c', { proto: 'tcp udp icmp' }))),
    ],
    ['a neighbour is not in the kernel', firewall(...without('e'))],
    ['a zone is not in the kernel', { name: 'firewall', sections: base }],
    ['the kernel has nothing', { name: 'firewall', sections: [] }],
  ])('%s', (_what, loaded) => {
    const after = firewall(...withChanged(rule('c', { dest_port: '9' })));
    expect(amend(firewall(...base), after, viewOf(loaded))).toBeUndefined();
  });
});

const options = fc.record({
  src: fc.constantFrom(...ZONES),
  dest: fc.constantFrom(undefined, ...ZONES),
  target: fc.constantFrom('accept', 'drop'),
  proto: fc.constantFrom('tcp', 'tcp udp'),
  dest_port: fc.constantFrom('1', '2'),
});
const anySection = (name: string): fc.Arbitrary<UciSection> =>
  fc.oneof(
    options.map(({ dest, ...others }) =>
      rule(name, dest === undefined ? others : { ...others, dest }),
    ),
    options.map(({ src, dest_port }) => dnat(name, { src, dest_ip: dest_port })),
  );
const NAMES = Array.from({ length: 20 }, (_, at) => `r${at}`);
const FATES = ['comes', 'goes', 'changes', ...Array.from({ length: 20 }, () => 'stays')];
/** Each section may be there before, after, or both; most stay. */
const change = fc
  .tuple(
    ...NAMES.map((name) =>
      fc.record({
        section: anySection(name),
        other: anySection(name),
        fate: fc.constantFrom(...FATES),
      }),
    ),
  )
  .map((all) => ({
    before: firewall(...all.flatMap(({ section, fate }) => (fate === 'comes' ? [] : section))),
    after: firewall(
      ...all.flatMap(({ section, other, fate }) =>
        fate === 'goes' ? [] : fate === 'changes' ? other : section,
      ),
    ),
  }));

it('leaves the table as after a reload after any change, or needs a reload', () => {
  let amended = 0;
  const runs = caseCount(500);
  fc.assert(
    fc.property(change, ({ before, after }) => {
      const now = amend(before, after);
      if (now === undefined) return true;
      amended += 1;
      return isAsAfterReload(now, after);
    }),
    { seed: SEED, numRuns: runs },
  );
  expect(amended / runs).toBeGreaterThan(0.1);
});
