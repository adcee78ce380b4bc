/** Twenty objects of many kinds as ICN's controller made them, in no order of age, and the CRs that they were made from. */
import type { RuleObject } from '#shared/kube/objects.ts';
import { configureAll, ruleBody } from './configured-by-icn.ts';
import { icnPost, ofIcn } from './icn.ts';
import type { TestOpenwrt } from './openwrt.ts';
import { cr } from './pass.ts';

type Made = { kind: string; path: string; name: string; spec: object; body?: object };

const MADE: readonly Made[] = [
  {
    kind: 'FirewallZone',
    path: 'firewall/v1/zones',
    name: 'lan2',
    spec: { network: ['ovn-net2'], input: 'REJECT' },
    body: { network: ['net2'], input: 'REJECT' },
  },
  ...['accept-22', 'accept-443', 'drop-8080', 'Reject.icmp'].map((name, at) => ({
    kind: 'FirewallRule',
    path: 'firewall/v1/rules',
    name,
    spec: { ...ruleBody, name, dest_port: String(1000 + at) },
  })),
  {
    kind: 'FirewallForwarding',
    path: 'firewall/v1/forwardings',
    name: 'lan2-lan1',
    spec: { src: 'lan2', dest: 'lan1' },
  },
  {
    kind: 'FirewallDNAT',
    path: 'firewall/v1/redirects',
    name: 'mail',
    spec: { src: 'lan2', src_dport: '25', dest_ip: '10.0.0.3', dest_port: '2525', proto: 'tcp' },
  },
  {
    kind: 'FirewallSNAT',
    path: 'firewall/v1/redirects',
    name: 'out-2',
    spec: { src_ip: '10.2.0.0/16', src_dip: '10.0.0.4', dest: 'wan', proto: 'udp' },
  },
  {
    kind: 'Mwan3Policy',
    path: 'mwan3/v1/policies',
    name: 'one',
    spec: { members: [{ network: 'ovn-net1', metric: 1, weight: 1 }] },
    body: { members: [{ interface: 'net1', metric: '1', weight: '1' }] },
  },
  {
    kind: 'IpsecProposal',
    path: 'ipsec/v1/proposals',
    name: 'prop2',
    spec: { encryption_algorithm: 'aes256', hash_algorithm: 'sha512', dh_group: 'modp4096' },
  },
];

const TARGETS: Readonly<Record<string, object>> = {
  FirewallDNAT: { target: 'DNAT' },
  FirewallSNAT: { target: 'SNAT' },
};

/** Where ICN's REST has each of them. */
export const pathsOf = (rules: readonly RuleObject[]): string[] =>
  rules.map(({ kind, metadata }) => `${COLLECTIONS[kind] ?? kind}/${metadata.name}`);

const COLLECTIONS: Readonly<Record<string, string>> = {
  FirewallZone: 'firewall/v1/zones',
  FirewallRule: 'firewall/v1/rules',
  FirewallForwarding: 'firewall/v1/forwardings',
  FirewallDNAT: 'firewall/v1/redirects',
  FirewallSNAT: 'firewall/v1/redirects',
  Mwan3Policy: 'mwan3/v1/policies',
  Mwan3Rule: 'mwan3/v1/rules',
  IpsecProposal: 'ipsec/v1/proposals',
  IpsecSite: 'ipsec/v1/remotes',
};

export const configureTwenty = async (openwrt: TestOpenwrt): Promise<RuleObject[]> => {
  const first = await configureAll(openwrt);
  // Later ones are older: the order on OpenWRT is not that of their age.
  for (const { kind, path, name, spec, body = spec } of MADE)
    await icnPost(openwrt, path, { ...body, ...TARGETS[kind], name });
  const others = MADE.map(({ kind, name, spec }, at) =>
    cr(kind, name, spec, { ...ofIcn, creationTimestamp: `2025-12-31T00:00:${59 - at}Z` }),
  );
  return [...first, ...others];
};
