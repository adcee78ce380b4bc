/**
 * Rules, and what becomes of a packet while they are there: from each network of a device to the
 * next.
 */
import type { RuleObject } from '#shared/kube/objects.ts';
import { childrenOf } from '../../golden/cases.ts';
import { cr } from '../agent/support/pass.ts';
import { PORT, type Probe } from './peers.ts';

export type PacketCase = {
  name: string;
  /** Are there before and after. */
  given?: readonly RuleObject[];
  created: readonly RuleObject[];
  changed: readonly RuleObject[];
  probe: Probe;
  /** What becomes of the packet. */
  becomes: { before: string; created: string; changed: string };
};

const zone = (name: string, network: string): RuleObject =>
  cr('FirewallZone', name, {
    network: [network],
    input: 'ACCEPT',
    output: 'ACCEPT',
    forward: 'REJECT',
  });
/** The zone of each network: none forwards to another by itself. */
export const ZONES: readonly RuleObject[] = [
  zone('z0', 'ovn-priv-net'),
  zone('z1', 'ovn-net1'),
  zone('z2', 'ovn-net2'),
];

const one = (kind: string, spec: object, annotations = {}): RuleObject[] => {
  const rule = cr(kind, 'scene', spec, { annotations });
  return [rule, ...childrenOf([rule])];
};
const forward = (src: string, dest: string): RuleObject =>
  cr('FirewallForwarding', `${src}-${dest}`, { src, dest });
const followed = (addresses: string) => ({ 'sdewan.akraino.org/pod-addresses': addresses });

const TO_DEVICE: Probe = { from: 'net1', to: '172.16.30.10' };
/**
 * Not between net1 and net2: what comes in by an uplink of mwan3 has only that uplink's way out.
 */
const NET0_TO_NET1: Probe = { from: 'net0', to: '172.16.30.1', port: PORT };
const TO_OPEN_PORT: Probe = { from: 'net0', to: '172.16.20.10', port: 7001 };
const BY_AN_UPLINK: Probe = { from: 'net0', to: '10.99.0.1', port: PORT };
const TO_UPLINKS = [forward('z0', 'z1'), forward('z0', 'z2')];
const ping = { src: 'z1', proto: 'icmp', icmp_type: ['echo-request'] };
const port = (spec: object) => ({ src: 'z0', proto: 'tcp', src_dport: 7001, ...spec });
const members = (network: string) => ({ members: [{ network, metric: 1, weight: 1 }] });
const policy = (network: string) => cr('Mwan3Policy', 'scene-policy', members(network));
const throughPolicy = one('Mwan3Rule', { policy: 'scene-policy', dest_ip: '10.99.0.0/16' });
const viaNet2 = cr('CNFRoute', 'scene-route', {
  dst: '10.99.0.0/16',
  gw: '172.16.40.1',
  dev: 'net2',
  table: 'cnf',
});

export const packetCases: readonly PacketCase[] = [
  {
    name: 'a FirewallRule drops, then rejects what comes to the device',
    created: one('FirewallRule', { ...ping, target: 'DROP' }),
    changed: one('FirewallRule', { ...ping, target: 'REJECT' }),
    probe: TO_DEVICE,
    becomes: { before: 'answered', created: 'no answer', changed: 'refused' },
  },
  {
    name: 'a FirewallRule accepts, then drops what the zone rejects',
    given: [],
    created: one('FirewallRule', { src: 'z0', dest: 'z1', proto: 'tcp', target: 'ACCEPT' }),
    changed: one('FirewallRule', { src: 'z0', dest: 'z1', proto: 'tcp', target: 'DROP' }),
    probe: NET0_TO_NET1,
    becomes: { before: 'refused', created: 'net1 sees 172.16.20.1', changed: 'no answer' },
  },
  {
    name: 'a FirewallForwarding forwards, then the other way round only',
    created: one('FirewallForwarding', { src: 'z0', dest: 'z1' }),
    changed: one('FirewallForwarding', { src: 'z1', dest: 'z0' }),
    probe: NET0_TO_NET1,
    becomes: { before: 'refused', created: 'net1 sees 172.16.20.1', changed: 'refused' },
  },
  {
    name: 'a FirewallDNAT leads to one host, then to another',
    created: one('FirewallDNAT', port({ dest: 'z1', dest_ip: '172.16.30.1', dest_port: PORT })),
    changed: one('FirewallDNAT', port({ dest: 'z2', dest_ip: '172.16.40.1', dest_port: PORT })),
    probe: TO_OPEN_PORT,
    becomes: {
      before: 'refused',
      created: 'net1 sees 172.16.20.1',
      changed: 'net2 sees 172.16.20.1',
    },
  },
  {
    name: 'a FirewallSNAT gives another source, then only to UDP',
    given: [forward('z0', 'z1')],
    created: one('FirewallSNAT', { dest: 'z1', src_dip: '172.16.30.10', proto: 'tcp' }),
    changed: one('FirewallSNAT', { dest: 'z1', src_dip: '172.16.30.10', proto: 'udp' }),
    probe: NET0_TO_NET1,
    becomes: {
      before: 'net1 sees 172.16.20.1',
      created: 'net1 sees 172.16.30.10',
      changed: 'net1 sees 172.16.20.1',
    },
  },
  {
    name: 'a CNFNAT masquerades, then only what comes from elsewhere',
    given: [forward('z0', 'z1')],
    created: one('CNFNAT', { target: 'MASQUERADE', dest: 'net1', src_ip: '172.16.20.0/24' }),
    changed: one('CNFNAT', { target: 'MASQUERADE', dest: 'net1', src_ip: '172.16.40.0/24' }),
    probe: NET0_TO_NET1,
    becomes: {
      before: 'net1 sees 172.16.20.1',
      created: 'net1 sees 172.16.30.10',
      changed: 'net1 sees 172.16.20.1',
    },
  },
  {
    name: 'a NetworkFirewallRule drops, then rejects what comes by a device',
    created: one('NetworkFirewallRule', { src: 'net1', proto: 'icmp', target: 'DROP' }),
    changed: one('NetworkFirewallRule', { src: 'net1', proto: 'icmp', target: 'REJECT' }),
    probe: TO_DEVICE,
    becomes: { before: 'answered', created: 'no answer', changed: 'refused' },
  },
  {
    name: 'a CNFService leads to its host, then to another',
    created: one('CNFService', { fullname: '172.16.30.1', port: 7001, dport: PORT }),
    changed: one('CNFService', { fullname: '172.16.40.1', port: 7001, dport: PORT }),
    probe: TO_OPEN_PORT,
    becomes: {
      before: 'refused',
      created: 'net1 sees 172.16.20.1',
      changed: 'net2 sees 172.16.20.1',
    },
  },
  {
    name: 'a CNFRouteRule sends through table 40, then another source only',
    given: [...TO_UPLINKS, viaNet2],
    created: one('CNFRouteRule', { src: '172.16.20.1/32', table: 40 }),
    changed: one('CNFRouteRule', { src: '172.16.20.2/32', table: 40 }),
    probe: BY_AN_UPLINK,
    becomes: {
      before: 'net1 sees 172.16.20.1',
      created: 'net2 sees 172.16.20.1',
      changed: 'net1 sees 172.16.20.1',
    },
  },
  {
    name: 'an SdewanApplication sends its pods through table 40, then other pods',
    given: [...TO_UPLINKS, viaNet2],
    created: one(
      'SdewanApplication',
      { podSelector: { matchLabels: { app: 'web' } } },
      followed('172.16.20.1'),
    ),
    changed: one(
      'SdewanApplication',
      { podSelector: { matchLabels: { app: 'web' } } },
      followed('172.16.20.2'),
    ),
    probe: BY_AN_UPLINK,
    becomes: {
      before: 'net1 sees 172.16.20.1',
      created: 'net2 sees 172.16.20.1',
      changed: 'net1 sees 172.16.20.1',
    },
  },
  {
    name: 'an Mwan3Rule sends by one uplink, then by the other',
    given: TO_UPLINKS,
    created: [policy('ovn-net2'), ...throughPolicy],
    changed: [policy('ovn-net1'), ...throughPolicy],
    probe: BY_AN_UPLINK,
    becomes: {
      before: 'net1 sees 172.16.20.1',
      created: 'net2 sees 172.16.20.1',
      changed: 'net1 sees 172.16.20.1',
    },
  },
];
