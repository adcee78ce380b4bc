/**
 * What OpenWRT's configuration must hold for each rule of test/deploy/manifests/seed-rules.yaml,
 * written by hand from OpenWRT's own documentation of its options: the judge knows nothing of how
 * the product renders.
 */
import type { DeviceSection } from './uci.ts';

/** A section that is to be there once, with at least these options. */
export type Expectation = {
  package: string;
  type: string;
  options: Record<string, string | string[]>;
};

/** One section of package `firewall`. */
export const inFirewall = (type: string, options: Expectation['options']): Expectation[] => [
  { package: 'firewall', type, options },
];

const expectations: Record<string, readonly Expectation[]> = {
  'Mwan3Policy/balance1': [
    {
      package: 'mwan3',
      type: 'policy',
      options: { use_member: ['balance1_net1', 'balance1_net2'] },
    },
    { package: 'mwan3', type: 'member', options: { interface: 'net1', metric: '2', weight: '2' } },
    { package: 'mwan3', type: 'member', options: { interface: 'net2', metric: '3', weight: '3' } },
  ],
  'Mwan3Rule/http-rule': [
    {
      package: 'mwan3',
      type: 'rule',
      options: {
        use_policy: 'balance1',
        src_ip: '192.168.1.2',
        dest_ip: '0.0.0.0/0',
        dest_port: '80',
        proto: 'tcp',
      },
    },
  ],
  'FirewallZone/lan1': [
    {
      package: 'firewall',
      type: 'zone',
      options: { name: 'lan1', network: ['net1'], input: 'ACCEPT', output: 'ACCEPT' },
    },
  ],
  'FirewallZone/wan1': [
    {
      package: 'firewall',
      type: 'zone',
      options: {
        name: 'wan1',
        network: ['net2'],
        input: 'REJECT',
        output: 'ACCEPT',
        forward: 'REJECT',
        masq: '1',
      },
    },
  ],
  'FirewallRule/reject-80': [
    {
      package: 'firewall',
      type: 'rule',
      options: {
        src: 'lan1',
        src_ip: '192.168.1.2',
        src_port: '80',
        proto: 'tcp',
        target: 'REJECT',
      },
    },
  ],
  'FirewallSNAT/snat-lan1': [
    {
      package: 'firewall',
      type: 'redirect',
      options: {
        target: 'SNAT',
        src: 'lan1',
        src_ip: '192.168.1.2',
        src_dip: '1.2.3.4',
        dest: 'wan1',
        proto: 'icmp',
      },
    },
  ],
  'FirewallDNAT/dnat-wan1': [
    {
      package: 'firewall',
      type: 'redirect',
      options: {
        target: 'DNAT',
        src: 'wan1',
        src_dport: '19900',
        dest: 'lan1',
        dest_ip: '192.168.1.1',
        dest_port: '22',
        proto: 'tcp',
      },
    },
  ],
  'FirewallForwarding/forwarding-lan-to-wan': [
    { package: 'firewall', type: 'forwarding', options: { src: 'lan1', dest: 'wan1' } },
  ],
};

/** `Kind/name` of every seed rule. */
export const seedRules: readonly string[] = Object.keys(expectations);

/** Package -> its sections, as read from the CNF's files. */
export type CnfConfig = ReadonlyMap<string, readonly DeviceSection[]>;

/** Whether each section that the rule stands for is there, exactly once. */
export const holdsSeedRule = (config: CnfConfig, rule: string): boolean =>
  holdsOnce(config, expectations[rule] ?? []);

export const holdsOnce = (config: CnfConfig, expected: readonly Expectation[]): boolean =>
  expected.every((each) => timesIn(config, each) === 1);

export const timesIn = (config: CnfConfig, expected: Expectation): number =>
  (config.get(expected.package) ?? []).filter(matches(expected)).length;

const matches =
  ({ type, options }: Expectation) =>
  (section: DeviceSection): boolean =>
    section.type === type &&
    Object.entries(options).every(
      ([name, value]) => JSON.stringify(section.options[name]) === JSON.stringify(value),
    );
