import { describe, expect, it } from 'vitest';
import { namedSection, ruleOf } from '#shared/compile/testing.ts';
import type { Verdict } from '#shared/compile/types.ts';
import { deviceFiles, fileSection } from '#shared/resources/device-files.ts';
import { kinds } from '#shared/resources/registry.ts';
import type { UciPackage, UciSection } from '#shared/uci/model.ts';
import { isInForce, standingOf, warningFor, type StandingInput } from './rule-states.ts';

const ours = namedSection('rule', 'sdewan_rule_a', { src: 'lan' });
const stray = namedSection('rule', 'sdewan_rule_old');
const admins = namedSection('rule', 'admin_ssh');

const packageOf = (name: string, ...sections: UciSection[]): [string, UciPackage] => [
  name,
  { name, sections },
];
const look = (change: Partial<StandingInput> = {}, desired = new Map([['firewall', [ours]]])) =>
  standingOf({
    rules: [],
    paused: false,
    plan: { verdicts: [], deltas: [], differing: new Set(), desired },
    observed: new Map([packageOf('firewall', admins, ours)]),
    unusable: new Map(),
    ownership: { kinds, ledger: new Map(), unserved: [] },
    unsettled: new Set(),
    ending: [],
    isLedgerLost: false,
    untaken: new Set(),
    lacking: new Map(),
    incomparable: new Map(),
    unreadOthers: new Map(),
    authors: { of: () => undefined, leaving: () => [], wasRemoved: () => false },
    warned: new Map(),
    ...change,
  });

describe('a section is in force', () => {
  const cases: Record<string, { change: Partial<StandingInput>; expected: boolean }> = {
    'when it was read back as desired': { change: {}, expected: true },
    'not when it is not there': {
      change: { observed: new Map([packageOf('firewall', admins)]) },
      expected: false,
    },
    'not when it is there with other options': {
      change: { observed: new Map([packageOf('firewall', namedSection('rule', ours.name))]) },
      expected: false,
    },
    'not when its package was not read': { change: { observed: new Map() }, expected: false },
    'not when its service may not have been reloaded since it was written': {
      change: { unsettled: new Set(['firewall']) },
      expected: false,
    },
    'whatever the service of another package has': {
      change: { unsettled: new Set(['mwan3']) },
      expected: true,
    },
  };
  it.each(Object.entries(cases))('%s', (_what, { change, expected }) => {
    expect(look(change).lagging.has('firewall.sdewan_rule_a')).toBe(!expected);
  });
});

const deleted = (name: string, kind = 'FirewallRule'): Verdict => ({
  rule: ruleOf(kind, name, {}),
  revision: '',
  generationInForce: 1,
  verdict: 'unwanted',
  reason: 'Removing',
  message: '',
  sections: [],
});
const uidOf = ({ rule }: Verdict): string => rule.metadata.uid;

describe('a deleted rule is gone', () => {
  const old = deleted('old');
  const other = deleted('other');
  const plan: StandingInput['plan'] = {
    verdicts: [old],
    deltas: [],
    differing: new Set(),
    desired: new Map([['firewall', [ours]]]),
  };
  const named = (verdict: Verdict): StandingInput['plan'] => ({
    ...plan,
    verdicts: [{ ...verdict, namesake: 'mwan3.old' }],
  });
  const there = new Map([packageOf('firewall', ours, stray)]);
  const by = (verdict: Verdict, removed: readonly Verdict[] = []): StandingInput['authors'] => ({
    of: (key) => (key === `firewall.${stray.name}` ? uidOf(verdict) : undefined),
    leaving: () => [],
    wasRemoved: (uid) => removed.some((each) => uidOf(each) === uid),
  });
  const unsettled = new Set(['firewall']);
  const cases: Record<string, { change: Partial<StandingInput>; gone: boolean }> = {
    'when all of ours is wanted': { change: {}, gone: true },
    'not while a section that was made for it is there': {
      change: { observed: there, authors: by(old) },
      gone: false,
    },
    'not while that is there again, although it was gone before': {
      change: { observed: there, authors: by(old, [old]) },
      gone: false,
    },
    'whatever is there that was made for another': {
      change: { observed: there, authors: by(other) },
      gone: true,
    },
    'not while a section of its package is there of which nobody knows for whom it was made': {
      change: { observed: there },
      gone: false,
    },
    'still, when it was gone before such a section came': {
      change: {
        observed: there,
        authors: { of: () => undefined, leaving: () => [], wasRemoved: () => true },
      },
      gone: true,
    },
    'whatever is there of a kind that the API server does not serve': {
      change: {
        observed: there,
        ownership: { kinds, ledger: new Map(), unserved: ['FirewallRule'] },
      },
      gone: true,
    },
    'not while its service may not have been reloaded since the file was written': {
      change: { unsettled },
      gone: false,
    },
    'still, when the file of its package is written for others': {
      change: { unsettled, authors: by(other, [old]) },
      gone: true,
    },
    "not while an agent that has lost its ledger sees a section with the rule's name": {
      change: { isLedgerLost: true, plan: named(old) },
      gone: false,
    },
    'not even when it was gone before that': {
      change: { isLedgerLost: true, plan: named(old), authors: by(other, [old]) },
      gone: false,
    },
    "whatever has the rule's name, when the ledger knows what is ours": {
      change: { plan: named(old) },
      gone: true,
    },
    'not while its package cannot be read': {
      change: { observed: new Map(), unusable: new Map([['firewall', 'does not parse']]) },
      gone: false,
    },
  };
  it.each(Object.entries(cases))('%s', (_what, { change, gone }) => {
    expect(look({ plan, ...change }).removed.has(uidOf(old))).toBe(gone);
  });

  it('not while its package refers to a file that no rule wants, or whose files are hidden now', () => {
    const site = deleted('site', 'IpsecSite');
    const isGone = (change: Partial<StandingInput>): boolean => {
      const desired = new Map([[deviceFiles.name, []]]);
      return look({ plan: { ...plan, verdicts: [site], desired }, ...change }).removed.has(
        uidOf(site),
      );
    };
    const file = fileSection('/etc/ipsec.d/private/sdewan-1.pem', 'a key');
    const ledger = new Map([[`${deviceFiles.name}.${file.name}`, 'IpsecSite']]);
    const ownership = { kinds, ledger, unserved: [] };
    const ipsec = packageOf('ipsec');
    expect(isGone({ observed: new Map([ipsec, packageOf(deviceFiles.name, file)]) })).toBe(false);
    expect(isGone({ observed: new Map([ipsec]), ownership })).toBe(false);
    expect(isGone({ observed: new Map(), ownership })).toBe(true);
    expect(isGone({ observed: new Map([ipsec, packageOf(deviceFiles.name)]) })).toBe(true);
  });
});

describe('a rule', () => {
  const verdict = (...names: string[]): Verdict => ({
    rule: ruleOf('FirewallRule', 'a', {}),
    revision: '',
    generationInForce: 1,
    verdict: 'wanted',
    reason: 'Applying',
    message: '',
    sections: names.map((name) => ({ package: 'firewall', name })),
  });
  const warned = new Map([['firewall', new Map([[ours.name, 'skipped']])]]);

  it('is in force when all of its sections are', () => {
    expect(isInForce(look(), verdict(ours.name))).toBe(true);
    const both = new Map([['firewall', [ours, namedSection('rule', 'another')]]]);
    expect(isInForce(look({}, both), verdict(ours.name, 'another'))).toBe(false);
  });

  it('is not in force when OpenWRT complained of a section, and the message is known', () => {
    const standing = look({ warned });
    expect(isInForce(standing, verdict(ours.name))).toBe(false);
    expect(warningFor(standing, verdict('another', ours.name))).toBe('skipped');
    expect(warningFor(standing, verdict('another'))).toBeUndefined();
  });

  it('is in force as it was while it is to be replaced and OpenWRT has that, settled and in its kernel', () => {
    const earlier = { generation: 3, package: 'firewall', sections: [ours] };
    const wanted = { ...verdict('another'), earlier };
    const plan: StandingInput['plan'] = {
      verdicts: [wanted],
      deltas: [],
      differing: new Set(),
      desired: new Map(),
    };
    const known = (change: Partial<StandingInput> = {}): number | undefined =>
      look({ plan, ...change }).earlier.get(uidOf(wanted));
    expect(known()).toBe(3);
    expect(known({ unsettled: new Set(['firewall']) })).toBeUndefined();
    expect(known({ observed: new Map([packageOf('firewall')]) })).toBeUndefined();
    const other = { ...ours, options: { ...ours.options, target: 'OTHER' } };
    expect(known({ observed: new Map([packageOf('firewall', other)]) })).toBeUndefined();
    expect(known({ lacking: new Map([[`firewall.${ours.name}`, 'a table']]) })).toBeUndefined();
    expect(known({ incomparable: new Map([[`firewall.${ours.name}`, 'why']]) })).toBeUndefined();
  });
});
