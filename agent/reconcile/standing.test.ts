import { describe, expect, it } from 'vitest';
import { namedSection, ruleOf } from '#shared/compile/testing.ts';
import type { Verdict } from '#shared/compile/types.ts';
import { deviceFiles, fileSection } from '#shared/resources/device-files.ts';
import { kinds } from '#shared/resources/registry.ts';
import type { UciPackage, UciSection } from '#shared/uci/model.ts';
import { isHeld, standingOf, warningFor, type StandingInput } from './standing.ts';

const ours = namedSection('rule', 'sdewan_rule_a', { src: 'lan' });
const stray = namedSection('rule', 'sdewan_rule_old');
const foreign = namedSection('rule', 'admin_ssh');

const packageOf = (name: string, ...sections: UciSection[]): [string, UciPackage] => [
  name,
  { name, sections },
];
const look = (change: Partial<StandingInput> = {}, desired = new Map([['firewall', [ours]]])) =>
  standingOf({
    rules: [],
    paused: false,
    plan: { verdicts: [], deltas: [], differing: new Set(), desired },
    observed: new Map([packageOf('firewall', foreign, ours)]),
    unusable: new Map(),
    ownership: { kinds, ledger: new Map(), unserved: [] },
    unsettled: new Set(),
    untaken: new Set(),
    lacking: new Map(),
    warningOf: () => undefined,
    ...change,
  });

describe('a section is in force', () => {
  const cases: Record<string, { change: Partial<StandingInput>; expected: boolean }> = {
    'when it was read back as desired': { change: {}, expected: true },
    'not when it is not there': {
      change: { observed: new Map([packageOf('firewall', foreign)]) },
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
    expect(look(change).inForce.has('firewall.sdewan_rule_a')).toBe(expected);
  });
});

describe('a package holds, or may hold, something of ours that no rule wants', () => {
  const cases: Record<string, { change: Partial<StandingInput>; expected: string[] }> = {
    'not when all of ours is wanted': { change: {}, expected: [] },
    'when such a section was read': {
      change: { observed: new Map([packageOf('firewall', ours, stray)]) },
      expected: ['firewall'],
    },
    'not when it is of a kind that the API server does not serve': {
      change: {
        observed: new Map([packageOf('firewall', ours, stray)]),
        ownership: { kinds, ledger: new Map(), unserved: ['FirewallRule'] },
      },
      expected: [],
    },
    'when its service may not have been reloaded since it was written': {
      change: { unsettled: new Set(['firewall']) },
      expected: ['firewall'],
    },
    'when it cannot be read': {
      change: { observed: new Map(), unusable: new Map([['firewall', 'does not parse']]) },
      expected: ['firewall'],
    },
  };
  it.each(Object.entries(cases))('%s', (_what, { change, expected }) => {
    expect([...look(change).strays]).toEqual(expected);
  });

  it('when it refers to a file that no rule wants, or whose files are hidden now', () => {
    const file = fileSection('/etc/ipsec.d/private/sdewan-1.pem', 'a key');
    const desired = new Map([[deviceFiles.name, []]]);
    const ledger = new Map([[`${deviceFiles.name}.${file.name}`, 'IpsecSite']]);
    const ownership = { kinds, ledger, unserved: [] };
    const ipsec = packageOf('ipsec');
    const left = look({ observed: new Map([ipsec, packageOf(deviceFiles.name, file)]) }, desired);
    expect([...left.strays]).toContain('ipsec');
    const hidden = look({ observed: new Map([ipsec]), ownership }, desired);
    expect([...hidden.strays]).toContain('ipsec');
    const gone = look({ observed: new Map(), ownership }, desired);
    expect([...gone.strays]).toEqual([]);
    const clean = look({ observed: new Map([ipsec, packageOf(deviceFiles.name)]) }, desired);
    expect([...clean.strays]).toEqual([]);
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
  const warningOf = (uciPackage: string, name: string): string | undefined =>
    uciPackage === 'firewall' && name === ours.name ? 'skipped' : undefined;

  it('is held when all of its sections are in force', () => {
    expect(isHeld(look(), verdict(ours.name))).toBe(true);
    expect(isHeld(look(), verdict(ours.name, 'another'))).toBe(false);
  });

  it('is not held when OpenWRT complained of a section, whose words are known', () => {
    const standing = look({ warningOf });
    expect(isHeld(standing, verdict(ours.name))).toBe(false);
    expect(warningFor(standing, verdict('another', ours.name))).toBe('skipped');
    expect(warningFor(standing, verdict('another'))).toBeUndefined();
  });
});
