/**
 * Twenty objects of nine kinds as ICN's controller makes them by REST, in no order of age, and the
 * rules that they were made from.
 */
import type { RuleObject } from '#shared/kube/objects.ts';
import { MWAN3_RULE, ofIcn, PROPOSAL, REMOTE } from '../agent/support/icn.ts';
import { cr } from '../agent/support/pass.ts';

/** `body`: what ICN's controller sends, where that is not the spec. */
type Made = { kind: string; name: string; spec: object; body?: object };

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

const zone = (name: string, network: string, device: string): Made => ({
  kind: 'FirewallZone',
  name,
  spec: { network: [network], input: 'REJECT', forward: 'REJECT', output: 'ACCEPT' },
  body: { network: [device], input: 'REJECT', forward: 'REJECT', output: 'ACCEPT' },
});
const rule = (name: string, target: string, dest_port: string): Made => ({
  kind: 'FirewallRule',
  name,
  spec: { src: 'lan1', proto: 'tcp', target, dest_port },
});
const forwarding = (src: string, dest: string): Made => ({
  kind: 'FirewallForwarding',
  name: `${src}-${dest}`,
  spec: { src, dest },
});
const dnat = (name: string, port: string): Made => {
  const spec = { src: 'lan1', src_dport: port, dest_ip: '10.0.0.2', dest_port: '2222' };
  const whole = { ...spec, proto: 'tcp' };
  return { kind: 'FirewallDNAT', name, spec: whole, body: { ...whole, target: 'DNAT' } };
};
const snat = (name: string, src_ip: string, proto: string): Made => {
  const spec = { src_ip, src_dip: '172.16.40.10', dest: 'lan2', proto };
  return { kind: 'FirewallSNAT', name, spec, body: { ...spec, target: 'SNAT' } };
};
const policy = (name: string, networks: readonly string[]): Made => {
  const members = networks.map((at, place) => ({ at, metric: place + 1, weight: 1 }));
  return {
    kind: 'Mwan3Policy',
    name,
    spec: { members: members.map(({ at, ...rest }) => ({ network: `ovn-${at}`, ...rest })) },
    body: {
      members: members.map(({ at, metric, weight }) => ({
        interface: at,
        metric: String(metric),
        weight: String(weight),
      })),
    },
  };
};

const MADE: readonly Made[] = [
  zone('lan1', 'ovn-net1', 'net1'),
  zone('lan2', 'ovn-net2', 'net2'),
  forwarding('lan1', 'lan2'),
  dnat('web', '22'),
  rule('zz-last', 'REJECT', '81'),
  rule('reject-80', 'REJECT', '80'),
  snat('out', '10.1.0.0/16', 'tcp'),
  zone('cust', 'ovn-priv-net', 'net0'),
  rule('accept-22', 'ACCEPT', '1000'),
  rule('accept-443', 'ACCEPT', '443'),
  rule('drop-8080', 'DROP', '8080'),
  rule('Reject.other', 'REJECT', '1003'),
  forwarding('lan2', 'lan1'),
  dnat('mail', '25'),
  snat('out-2', '10.2.0.0/16', 'udp'),
  policy('balance', ['net1', 'net2']),
  policy('one', ['net1']),
  { kind: 'Mwan3Rule', name: 'https', spec: MWAN3_RULE },
  { kind: 'IpsecProposal', name: 'prop1', spec: PROPOSAL },
  {
    kind: 'IpsecSite',
    name: 'site1',
    spec: { remote: '203.0.113.1', ...REMOTE },
    body: { gateway: '203.0.113.1', ...REMOTE },
  },
];

/** In the order in which retries of ICN's controller happened to get through. */
export const requests = MADE.map(({ kind, name, spec, body = spec }) => ({
  path: COLLECTIONS[kind] ?? '',
  body: { ...body, name },
}));

/** Later ones are older: the order on OpenWRT is not that of their age. */
export const rulesOfIcn: readonly RuleObject[] = MADE.map(({ kind, name, spec }, at) =>
  cr(kind, name, spec, {
    ...ofIcn,
    creationTimestamp: `2026-01-01T00:00:${String(59 - at).padStart(2, '0')}Z`,
  }),
);

/** Where ICN's REST has it. */
export const pathOf = ({ kind, metadata }: RuleObject): string =>
  `${COLLECTIONS[kind] ?? kind}/${metadata.name}`;

const NEEDED = new Set(['FirewallZone', 'Mwan3Policy', 'IpsecProposal']);

/** In the order in which ICN's REST lets them be deleted: what others use last. */
export const deletable: readonly RuleObject[] = [
  ...rulesOfIcn.filter(({ kind }) => !NEEDED.has(kind)),
  ...rulesOfIcn.filter(({ kind }) => NEEDED.has(kind)),
];
