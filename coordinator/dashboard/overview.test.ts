import { expect, it } from 'vitest';
import { createManualClock } from '#shared/runtime/testing/manual-clock.ts';
import { ready, withStatus } from '../cli/cluster/testing.ts';
import type { RuleVersion } from '../sources/rules.ts';
import { ruleOf } from '../sources/rule.ts';
import { Overview } from './overview.ts';
import { NO_RESOURCE } from './testing.ts';

const CNF = { namespace: 'default', purpose: 'cnf-1' };

const versionOf = (name: string, inSync: boolean, order = '0'): RuleVersion => {
  const annotations = { 'sdewan.akraino.org/order': order };
  const status = ready(inSync, inSync ? 'InSync' : 'InvalidSpec');
  const object = withStatus(['FirewallRule', name], status, { uid: name, annotations });
  return { resource: NO_RESOURCE, object, rule: ruleOf(object, 'r') };
};

it('computes nothing anew of many rules that did not change', () => {
  const versions = new Map(['a', 'b', 'c'].map((name) => [name, versionOf(name, true)]));
  const overview = new Overview({
    rules: [
      {
        get: (uid) => versions.get(uid),
        uids: () => versions.keys(),
        uidsOfPurpose: () => new Set(versions.keys()),
      },
    ],
    rollOuts: { get: () => undefined, uids: () => [].values(), uidsOfPurpose: () => new Set() },
    pods: {
      all: () => [],
      ofPurpose: () => [],
      placeOf: () => ({ node: undefined, ip: undefined, agentImage: undefined }),
    },
    reportedPods: () => [],
    reportOf: () => undefined,
    notReady: () => [],
    silentAfterMs: 45_000,
    clock: createManualClock(),
  });
  const rows = () => overview.rulesOf(CNF);
  const told = () => rows().map(({ state: { name, state } }) => `${name} ${state}`);
  const before = rows();
  expect(told()).toEqual(['a InSync', 'b InSync', 'c InSync']);

  versions.set('a', versionOf('a', false));
  overview.mark();
  expect(told()).toEqual(['a NotInSync', 'b InSync', 'c InSync']);
  expect(rows()[1]?.state).toBe(before[1]?.state);
  expect(rows()[2]?.state).toBe(before[2]?.state);

  versions.set('a', versionOf('a', true, '5'));
  versions.set('d', versionOf('d', true, '-1'));
  versions.delete('b');
  overview.mark();
  expect(told()).toEqual(['d InSync', 'c InSync', 'a InSync']);
});
