import { describe, expect, it } from 'vitest';
import { ruleOf } from '#shared/compile/testing.ts';
import type { RuleObject } from '#shared/kube/objects.ts';
import { cnf, factsOf, podWith, twoNetworks } from '../cluster/testing.ts';
import { traceCommandFor } from './example.ts';

const reported = cnf('cnf-1', 'default', { information: [twoNetworks] });
const pods = [
  podWith(
    '{"interface": [{"name": "net-a", "interface": "net1"}, {"name": "net-b", "interface": "net2"}]}',
  ),
];
const zone = (name: string, network: string): RuleObject =>
  ruleOf('FirewallZone', name, { network: [network], input: 'ACCEPT', forward: 'REJECT' });
const zones = [zone('lan', 'net-a'), zone('wan', 'net-b')];
const smtp = { src: 'lan', dest: 'wan', proto: 'tcp', dest_port: '25', target: 'DROP' };

const commandFor = (rule: RuleObject, cnfs = [reported]): string | undefined =>
  traceCommandFor(rule, factsOf({ rules: [...zones, rule], cnfs, pods }));

describe('a packet that comes to a rule', () => {
  it('is said as the command that traces it', () => {
    expect(commandFor(ruleOf('FirewallRule', 'no-smtp', smtp))).toBe(
      'sdewan trace cnf-1 -n default --in net-a --src 10.0.1.2 --dst 192.0.2.2 --proto tcp --dport 25',
    );
  });

  it('is said with what else makes a difference', () => {
    const marked = { ...smtp, src_mac: '02:00:00:00:00:07', src_port: '7' };
    expect(commandFor(ruleOf('FirewallRule', 'no-smtp', marked))).toMatch(
      / --sport 7 --dport 25 --mac 02:00:00:00:00:07$/,
    );
  });

  it('is none where no agent has reported addresses', () => {
    const rule = ruleOf('FirewallRule', 'no-smtp', smtp);
    expect(commandFor(rule, [cnf('cnf-1')])).toBeUndefined();
  });

  it('is none of what is no rule of a firewall', () => {
    expect(
      commandFor(ruleOf('CNFRoute', 'out', { dst: '192.0.2.0/24', dev: 'net-a' })),
    ).toBeUndefined();
  });
});
