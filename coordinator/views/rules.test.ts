import { expect, it } from 'vitest';
import { cnf, factsOf, ready, withStatus } from '../cli/cluster/testing.ts';
import { rulesText, rulesViewOf, rulesViewSchema } from './rules.ts';

const NOW = Date.parse('2026-01-01T00:03:00Z');
const inSync = ready(true, 'InSync');
const order = (value: string) => ({ annotations: { 'sdewan.akraino.org/order': value } });
const rules = [
  withStatus(['CNFService', 's'], inSync),
  withStatus(['Mwan3Policy', 'p'], inSync),
  withStatus(['FirewallRule', 'second'], inSync, order('2')),
  withStatus(['FirewallRule', 'first'], inSync, order('1')),
  withStatus(['FirewallZone', 'z'], {
    ...ready(false, 'AgentSilent', 'silent'),
    outOfSync: [{ pod: 'cnf-1-b', reason: 'AgentSilent', message: 'silent' }],
  }),
  withStatus(['FirewallZone', 'of-another'], inSync, { labels: { sdewanPurpose: 'cnf-2' } }),
];
const view = rulesViewOf(factsOf({ rules }), cnf('cnf-1'));

it("has the rules of the CNF in the order of OpenWRT's configuration", () => {
  expect(
    view.rules.map(({ package: name, kind, name: rule }) => [name, `${kind}/${rule}`]),
  ).toEqual([
    ['firewall', 'FirewallZone/z'],
    ['firewall', 'FirewallRule/first'],
    ['firewall', 'FirewallRule/second'],
    ['mwan3', 'Mwan3Policy/p'],
    [undefined, 'CNFService/s'],
  ]);
  expect(view.inSync).toBe('No');
});

it('has the state on each pod', () => {
  expect(view.rules[0]?.podStates).toEqual([
    { pod: 'cnf-1-a', state: 'InSync' },
    { pod: 'cnf-1-b', state: 'NotInSync', reason: 'AgentSilent', message: 'silent' },
  ]);
});

it('does not guess at pods that the status had no room for', () => {
  const status = {
    ...ready(false, 'AgentSilent', 'silent'),
    pods: { live: 5, applied: 1, summary: '1/5' },
  };
  const rule = withStatus(['FirewallZone', 'z'], {
    ...status,
    outOfSync: [{ pod: 'cnf-1-b', reason: 'AgentSilent', message: 'silent' }],
  });
  const [first] = rulesViewOf(factsOf({ rules: [rule] }), cnf('cnf-1')).rules;
  expect(first?.podStates.map(({ state }) => state)).toEqual(['Unknown', 'NotInSync']);
});

it('prints both forms', () => {
  expect(rulesText(view, { isWide: false, now: NOW })).toBe(
    `PACKAGE    RULE                  PODS   STATE         SINCE   NOT IN SYNC ON
firewall   FirewallZone/z        1/2    AgentSilent   3m      cnf-1-b (AgentSilent)
firewall   FirewallRule/first    2/2    InSync        3m
firewall   FirewallRule/second   2/2    InSync        3m
mwan3      Mwan3Policy/p         2/2    InSync        3m
-          CNFService/s          2/2    InSync        3m
`,
  );
  expect(rulesText(view, { isWide: true, now: NOW })).toContain('cnf-1-a   cnf-1-b\n');
});

it('is as its schema says', () => {
  expect(rulesViewSchema.parse(JSON.parse(JSON.stringify(view)))).toEqual(view);
});
