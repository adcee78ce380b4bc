import { expect, it } from 'vitest';
import * as fc from 'fast-check';
import { ruleOf } from '#shared/compile/testing.ts';
import { factsOf } from '../cluster/testing.ts';
import { changedLines } from './lines.ts';
import { diffText, diffViewOf } from './view.ts';

const zone = (network = 'net1') => ruleOf('FirewallZone', 'lan', { network: [network] });
const rule = (port: string, src = 'lan') =>
  ruleOf('FirewallRule', 'web', { src, proto: 'tcp', dest_port: port, target: 'ACCEPT' });
const diff = (held: ReturnType<typeof rule>[], files: ReturnType<typeof rule>[]) =>
  diffViewOf(factsOf({ rules: held }), files);

it('finds no difference in a rule that is as the cluster has it', () => {
  expect(diff([zone(), rule('80')], [rule('80')])).toMatchObject({
    different: false,
    changes: [],
  });
});

it('shows a changed rule as its UCI, and nothing else', () => {
  const view = diff([zone(), rule('80')], [rule('443')]);
  expect(view.changes.map(({ name, change }) => [name, change])).toEqual([['web', 'Changed']]);
  expect(diffText(view).split('\n')).toEqual([
    'FirewallRule/web of cnf-1: changed',
    '  package firewall',
    "  config rule 'sdewan_rule_web'",
    "    option name 'web'",
    "    option src 'lan'",
    "    option proto 'tcp'",
    "-   option dest_port '80'",
    "+   option dest_port '443'",
    "    option target 'ACCEPT'",
    '',
  ]);
});

it('shows a new rule as new, and with it a change of a rule that waited for it', () => {
  const view = diff([rule('80')], [zone()]);
  expect(view.changes.map(({ name, change }) => [name, change])).toEqual([
    ['web', 'Changed'],
    ['lan', 'New'],
  ]);
  expect(diffText(view)).toMatch(/^- # not in force: spec\.src: waits for FirewallZone lan/m);
});

it('shows a rule with another label as gone from the one CNF and new on the other', () => {
  const moved = ruleOf(
    'FirewallZone',
    'lan',
    { network: ['net1'] },
    { labels: { sdewanPurpose: 'cnf-2' } },
  );
  const view = diff([zone()], [moved]);
  expect(view.changes.map(({ cnf, change }) => `${cnf} ${change}`).sort()).toEqual([
    'cnf-1 Gone',
    'cnf-2 New',
  ]);
});

it('texts without lines do not differ', () => {
  expect(changedLines([], [])).toEqual([]);
});

it('changed lines make the one text of the other', () => {
  const lines = fc.array(fc.constantFrom('a', 'b', 'c'), { maxLength: 8 });
  fc.assert(
    fc.property(lines, lines, (before, after) => {
      const changed = changedLines(before, after);
      const without = (sign: string) =>
        changed.filter((line) => line.sign !== sign).map(({ text }) => text);
      expect([without('+'), without('-')]).toEqual([before, after]);
      const isEqual = changed.every(({ sign }) => sign === ' ');
      expect(isEqual).toBe(before.join() === after.join());
    }),
  );
});
