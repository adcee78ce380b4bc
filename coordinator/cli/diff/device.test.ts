import * as fc from 'fast-check';
import { expect, it } from 'vitest';
import type { Inspection } from '#shared/protocol/inspection.ts';
import { inspectionWith } from '#shared/protocol/testing.ts';
import type { UciSection } from '#shared/uci/model.ts';
import { ready, withStatus } from '../cluster/testing.ts';
import { askedPod, podDiffText, podDiffViewOf, sectionChanges, unaskedPod } from './device.ts';

const POD = { namespace: 'edge', name: 'cnf-1-a', purpose: 'cnf-1' };

const section = (name: string, options: Record<string, string | string[]> = {}) => ({
  name,
  anonymous: false,
  type: 'rule',
  options,
});
const web = section('sdewan_rule_web', { name: 'web', target: 'ACCEPT' });
const theirs = section('theirs', { target: 'DROP' });

type Package = Inspection['packages'][number];
const inspection = (packages: Package[], more: Partial<Inspection> = {}): Inspection =>
  inspectionWith({
    packages,
    rules: [
      {
        kind: 'FirewallRule',
        name: 'web',
        generation: 1,
        state: 'Applied',
        reason: 'Applied',
        message: '',
        sections: ['firewall.sdewan_rule_web'],
      },
    ],
    ...more,
  });
const firewall = (held: Package['held'], wanted: Package['wanted']): Package => ({
  name: 'firewall',
  held,
  wanted,
});

it('finds no difference where OpenWRT has what it should, whatever the order of options', () => {
  const turned = section('sdewan_rule_web', { target: 'ACCEPT', name: 'web' });
  const pod = askedPod(POD, inspection([firewall([theirs, turned], [theirs, web])]));
  expect(pod).toMatchObject({ state: 'Equal', changes: [], notes: [] });
  expect(podDiffText(podDiffViewOf([pod]))).toBe('cnf-1-a: as it should be\n');
});

it('shows each difference as UCI, with the rule that it is of', () => {
  const changed = section('sdewan_rule_web', { target: 'DROP', name: 'web' });
  const wild = section('sdewan_rule_wild', { target: 'ACCEPT' });
  const wanted = [theirs, web, section('sdewan_rule_new', { target: 'DROP' })];
  const view = podDiffViewOf([
    askedPod(POD, inspection([firewall([theirs, changed, wild], wanted)], { paused: true })),
  ]);
  expect(podDiffText(view).split('\n')).toEqual([
    'cnf-1-a: different; its agent is paused',
    "  firewall: rule 'sdewan_rule_web' of FirewallRule/web is changed",
    '    package firewall',
    "    config rule 'sdewan_rule_web'",
    "  -   option target 'DROP'",
    "  +   option target 'ACCEPT'",
    "      option name 'web'",
    '',
    "  firewall: rule 'sdewan_rule_new' is missing",
    '  + package firewall',
    "  + config rule 'sdewan_rule_new'",
    "  +   option target 'DROP'",
    '',
    "  firewall: rule 'sdewan_rule_wild' is there, and should not be",
    '  - package firewall',
    "  - config rule 'sdewan_rule_wild'",
    "  -   option target 'ACCEPT'",
    '',
  ]);
  expect(view.state).toBe('Different');
});

it('is not equal while the agent does not know what should be there', () => {
  const waiting = askedPod(POD, inspection([], { waitsFor: ['FirewallRule: not listed yet'] }));
  expect(waiting).toMatchObject({ state: 'Unknown', notes: ['FirewallRule: not listed yet'] });
  const unread = { ...firewall([web], [web]), unusable: 'a line cannot be read' };
  expect(askedPod(POD, inspection([unread]))).toMatchObject({
    state: 'Unknown',
    notes: ['package firewall: a line cannot be read'],
  });
});

it('says of a pod that cannot be asked why, and what statuses say of it', () => {
  const status = {
    ...ready(false, 'Applying', 'is applied'),
    outOfSync: [{ pod: 'cnf-1-a', reason: 'Applying', message: 'is applied' }],
  };
  const rules = [
    withStatus(['FirewallRule', 'web'], status),
    withStatus(['FirewallRule', 'other'], ready(true, 'InSync')),
  ];
  const pod = unaskedPod(POD, 'you may not create pods/portforward in namespace edge', rules);
  expect(pod).toMatchObject({
    state: 'Unknown',
    notes: [
      'you may not create pods/portforward in namespace edge',
      'by its status FirewallRule/web is not in sync: Applying',
    ],
  });
  expect(podDiffViewOf([pod, askedPod(POD, inspection([firewall([web], [web])]))]).state).toBe(
    'Unknown',
  );
});

const names = fc.uniqueArray(fc.constantFrom('a', 'b', 'c', 'd', 'e', 'f', 'g', 'h'), {
  maxLength: 8,
});
const packageOf = (given: readonly string[]): UciSection[] => given.map((name) => section(name));

it('makes the one package of the other by what it says, and moves as few sections as can be', () => {
  fc.assert(
    fc.property(names, names, (before, after) => {
      const changes = sectionChanges(packageOf(before), packageOf(after));
      const told = (change: string): string[] =>
        changes.filter((one) => one.change === change).map((one) => one.section);
      const gone = new Set([...told('Unwanted'), ...told('Moved')]);
      const come = new Set([...told('Missing'), ...told('Moved')]);
      const staying = before.filter((name) => !gone.has(name));
      expect(after.filter((name) => !come.has(name))).toEqual(staying);
      const common = before.filter((name) => after.includes(name));
      expect(staying).toHaveLength(longestRise(common.map((name) => after.indexOf(name))));
    }),
  );
});

/** By trying every part. */
const longestRise = (places: readonly number[]): number => {
  let longest = 0;
  for (let part = 0; part < 1 << places.length; part += 1) {
    const taken = places.filter((_, at) => part & (1 << at));
    if (taken.every((place, at) => at === 0 || (taken[at - 1] ?? 0) < place))
      longest = Math.max(longest, taken.length);
  }
  return longest;
};
