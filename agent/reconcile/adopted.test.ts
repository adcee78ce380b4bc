import { describe, expect, it } from 'vitest';
import type { Adoption } from '#shared/compile/adoption.ts';
import { namedSection, ruleOf } from '#shared/compile/testing.ts';
import type { Verdict } from '#shared/compile/types.ts';
import type { UciDelta } from '#shared/uci/model.ts';
import { kindsOf, leavingIn, rejectedByOurNames, without } from './adopted.ts';

/** `package.our-name` -> the id that OpenWRT knows; each for a rule of our name. */
const adoptionOf = (found: Record<string, string>): Adoption => ({
  packages: new Map(),
  adopted: new Map(
    Object.entries(found).map(([key, id]) => [
      key,
      { kind: 'FirewallRule', uid: key.split('.')[1], found: namedSection('rule', id) },
    ]),
  ),
});

it('a section that was removed, or put at another place, is not an adopted one any more', () => {
  const delta = (uciPackage: string, parts: Partial<UciDelta>): UciDelta => ({
    package: uciPackage,
    remove: [],
    set: [],
    append: [],
    ...parts,
  });
  const before = namedSection('rule', 'changed');
  const adopted = ['removed', 'moved', 'changed', 'untouched'].map((name) => `firewall.${name}`);
  const deltas = [
    delta('firewall', {
      remove: ['removed'],
      append: [namedSection('rule', 'moved')],
      set: [{ before, after: before }],
    }),
    delta('mwan3', { remove: ['untouched'] }),
  ];
  expect(without(new Set(adopted), deltas)).toEqual(
    new Set(['firewall.changed', 'firewall.untouched']),
  );
});

describe('of the rules with something adopted', () => {
  const verdict = (name: string, state: Verdict['verdict']): Verdict => ({
    rule: ruleOf('FirewallRule', name, {}, { uid: name }),
    revision: '',
    generationInForce: undefined,
    verdict: state,
    reason: 'Removing',
    message: '',
    sections: [],
  });

  it('those leave that go', () => {
    const verdicts = [
      verdict('goes', 'unwanted'),
      verdict('stays', 'wanted'),
      verdict('goes-without', 'unwanted'),
    ];
    const adoption = adoptionOf({ 'firewall.goes': 'cfg01', 'firewall.stays': 'cfg02' });
    expect(leavingIn({ verdicts }, adoption)).toEqual(new Set(['goes']));
  });

  it('each is recorded with its kind', () => {
    expect(kindsOf(adoptionOf({ 'firewall.a': 'cfg01' }))).toEqual(
      new Map([['firewall.a', 'FirewallRule']]),
    );
  });
});

it('a refusal speaks of sections by our names, those of its own package', () => {
  const adoption = adoptionOf({ 'firewall.a': 'cfg01', 'mwan3.b': 'cfg01', 'mwan3.c': 'cfg02' });
  const rejected = {
    outcome: 'rejected',
    package: 'firewall',
    message: 'no',
    sections: ['cfg01', 'cfg02'],
  } as const;
  expect(rejectedByOurNames(rejected, adoption)).toEqual({ ...rejected, sections: ['a', 'cfg02'] });
});
