import { describe, expect, it } from 'vitest';
import { ruleOf } from '#shared/compile/testing.ts';
import type { RuleObject } from '#shared/kube/objects.ts';
import { cnf, factsOf, podWith, ready, twoNetworks } from '../cluster/testing.ts';
import { runCli } from '../testing.ts';
import { parseTarget, ruleNamed } from './target.ts';
import { explanationOf, explanationSchema, explanationText } from '../../views/explanation.ts';
import { UsageError } from '../../views/usage-error.ts';

const NOW = Date.parse('2026-01-01T00:03:00Z');
const inSync = ready(true, 'InSync');
const zone: RuleObject = {
  ...ruleOf('FirewallZone', 'lan-1', { network: ['ovn-net1'], input: 'ACCEPT' }),
  status: inSync,
};
const spec = { src: 'lan-1', proto: 'tcp', dest_port: '80', target: 'REJECT' };
const rule: RuleObject = {
  ...ruleOf('FirewallRule', 'reject-80', spec),
  status: {
    ...ready(false, 'AgentSilent', 'cnf-1-b: the agent does not report any more'),
    outOfSync: [{ pod: 'cnf-1-b', reason: 'AgentSilent', message: 'silent' }],
  },
};
const annotation = '{"interface": [{"name": "ovn-net1", "interface": "net7"}]}';
const pods = [podWith(annotation)];
const facts = factsOf({ rules: [zone, rule], pods });
const event = {
  type: 'Warning',
  reason: 'AgentSilent',
  message: 'cnf-1-b: silent',
  count: 2,
  last: '2026-01-01T00:02:00Z',
};

describe('what is known of a rule', () => {
  it('is its state on each pod, its UCI, what it refers to, and what happened', () => {
    expect(explanationText(explanationOf(rule, facts, [event]), NOW)).toBe(`FirewallRule/reject-80:
FOR         NAMESPACE   GENERATION   STATE         SINCE
CNF cnf-1   default     1            AgentSilent   3m
cause: cnf-1-b: the agent does not report any more
cure:  See An agent does not report (sdewan docs status#an-agent-does-not-report).

In force on:
POD       STATE         MESSAGE
cnf-1-a   InSync
cnf-1-b   AgentSilent   silent

Refers to:
RULE                 STATE    FIELD
FirewallZone/lan-1   InSync   spec.src

Referred to by:
none

UCI:
package firewall

config rule 'sdewan_rule_reject_80'
	option name 'reject-80'
	option src 'lan_1'
	option proto 'tcp'
	option dest_port '80'
	option target 'REJECT'

Conditions:
TYPE    STATUS   REASON        SINCE
Ready   False    AgentSilent   3m

So far:
LAST   COUNT   TYPE      REASON        MESSAGE
60s    2       Warning   AgentSilent   cnf-1-b: silent
`);
  });

  it('is who refers to it, and the interface that its pods have', () => {
    const view = explanationOf(zone, facts, []);
    expect(view.referredBy).toEqual([
      { path: 'spec.src', kind: 'FirewallRule', name: 'reject-80', state: 'AgentSilent' },
    ]);
    expect(view.uci).toMatchObject([
      { name: 'firewall', sections: [{ options: { network: ['net7'] } }] },
    ]);
    expect(view.notes).toEqual([]);
  });

  it('has the name that OpenWRT gives the interface of a device', () => {
    const route = ruleOf('CNFRoute', 'lab', { dst: '10.7.0.0/16', dev: 'eth2' });
    const reported = cnf('cnf-1', 'default', { information: [twoNetworks] });
    const view = explanationOf(route, factsOf({ rules: [route], cnfs: [reported], pods }), []);
    expect(view.uci).toMatchObject([{ sections: [{ options: { interface: 'net2' } }] }]);
  });

  it('says that interfaces are not known where no pod can be seen', () => {
    const view = explanationOf(zone, { ...facts, pods: undefined }, []);
    expect(view.uci).toMatchObject([{ sections: [{ options: { network: ['ovn_net1'] } }] }]);
    expect(view.notes).toEqual([expect.stringContaining('no pod of the CNF can be seen')]);
  });

  it('is who decides before it for all packets', () => {
    const all = ruleOf('FirewallRule', 'all', { src: 'lan-1', proto: 'tcp', target: 'DROP' });
    const hidden = factsOf({ rules: [zone, all, rule], pods });
    expect(explanationOf(rule, hidden, []).notes).toEqual([
      'no packet comes to it: FirewallRule/all decides before it for all that it matches',
    ]);
    expect(explanationOf(all, hidden, []).notes).toEqual([]);
  });

  it('is what the agent would say of a network that Multus has not attached, or twice', () => {
    const missing = (selections: string): string | undefined => {
      const networks = { namespace: 'default', nodus: undefined, selections, status: undefined };
      const alone = ruleOf('FirewallZone', 'z', { network: ['lan'] });
      const known = factsOf({ rules: [alone], pods: [{ ...podWith(annotation), networks }] });
      return explanationOf(alone, known, []).uciMissing;
    };
    expect(missing('lan')).toContain('does not say yet which interface network lan is');
    expect(missing('lan@x,lan@y')).toContain('lan may be each of these networks');
  });

  it('is why there is no UCI', () => {
    const orphan = ruleOf('FirewallRule', 'r', { ...spec, src: 'wan9' });
    const view = explanationOf(orphan, factsOf({ rules: [orphan], cnfs: [cnf('cnf-1')] }), []);
    expect(view).toMatchObject({
      uci: [],
      uciMissing: expect.stringContaining('waits for FirewallZone wan9'),
      refersTo: [{ name: 'wan9', state: 'Absent' }],
    });
    const maker = ruleOf('CNFService', 's', { fullname: 'a.example', port: '80', dport: '80' });
    const missingWith = (...made: RuleObject[]) =>
      explanationOf(maker, factsOf({ rules: [maker, ...made] }), []).uciMissing;
    expect(missingWith()).toMatch(/other rules, .*: of CNFNAT, none yet$/);
    const owner = { apiVersion: 'v1', kind: 'CNFService', name: 's', controller: true };
    const ownerReferences = [{ ...owner, uid: maker.metadata.uid }];
    const child = { ...ruleOf('CNFNAT', 's-nat', {}, { ownerReferences }), status: inSync };
    expect(missingWith(child, ruleOf('CNFNAT', 'mine', {}))).toMatch(/: CNFNAT\/s-nat \(InSync\)$/);
  });

  it('is as its schema says', () => {
    const view = explanationOf(rule, facts, [event]);
    expect(explanationSchema.parse(JSON.parse(JSON.stringify(view)))).toEqual(view);
  });
});

describe('the rule that is meant', () => {
  it.each([
    'FirewallRule/r',
    'firewallrules/r',
    'firewallrule/r',
    'firewallrules.batch.sdewan.akraino.org/r',
  ])('is %s', (text) => {
    expect(parseTarget(text)).toMatchObject({ kind: { kind: 'FirewallRule' }, name: 'r' });
  });

  it.each(['NetworkPolicy/p', 'netpol/p', 'networkpolicies.networking.k8s.io/p'])(
    'is %s, of a policy',
    (text) => expect(parseTarget(text)).toEqual({ policy: 'NetworkPolicy', name: 'p' }),
  );

  it.each([
    ['NetwrkPolicy/p', 'the nearest are NetworkPolicy, '],
    ['FirewalRule/r', 'the nearest are FirewallRule, '],
    ['reject-80', 'must be KIND/NAME'],
    ['a/b/c', 'must be KIND/NAME'],
  ])('is not %s', async (text, words) => {
    const { code, said } = await runCli(['explain', text, '--kubeconfig', '/nonexistent']);
    expect([code, said]).toEqual([2, [expect.stringContaining(words)]]);
  });

  it('is one that is there, and one only', () => {
    const target = parseTarget('FirewallRule/reject-8');
    if ('policy' in target) throw new Error('a policy');
    expect(() => ruleNamed([zone, rule], target)).toThrow(/the nearest are reject-80$/);
    const twice = ['a', 'b'].map((namespace) =>
      ruleOf('FirewallRule', 'reject-8', spec, { namespace }),
    );
    expect(() => ruleNamed(twice, target)).toThrow(UsageError);
    expect(() => ruleNamed(twice, target)).toThrow(/a, b: specify one/);
  });
});
