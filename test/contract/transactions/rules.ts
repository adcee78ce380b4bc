/**
 * Rules in two packages: of the firewall, whose section names show that they are ours, and of
 * mwan3, whose names do not.
 */
import { DELETING, ruleOf } from '#shared/compile/testing.ts';
import type { RuleObject } from '#shared/kube/objects.ts';

export const NETWORKS = JSON.stringify({
  type: 'ovn4nfv',
  interface: [
    { defaultGateway: 'false', interface: 'net1', name: 'ovn-net1' },
    { defaultGateway: 'false', interface: 'net2', name: 'ovn-net2' },
  ],
});

export const zone = ruleOf('FirewallZone', 'lan1', { network: ['ovn-net1'], input: 'ACCEPT' });
export const firewallRule = (name: string, port: string, generation = 1): RuleObject =>
  ruleOf(
    'FirewallRule',
    name,
    { src: 'lan1', proto: 'tcp', dest_port: port, target: 'REJECT' },
    { generation },
  );
export const policy = (name: string, weight = 1): RuleObject =>
  ruleOf('Mwan3Policy', name, { members: [{ network: 'ovn-net1', metric: 1, weight }] });
export const mwan3Rule = (name: string, port: string): RuleObject =>
  ruleOf('Mwan3Rule', name, { policy: 'balance', proto: 'tcp', dest_port: port });

export const deleted = (rule: RuleObject): RuleObject => ({
  ...rule,
  metadata: { ...rule.metadata, ...DELETING },
});
