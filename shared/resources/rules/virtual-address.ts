/**
 * VirtualAddress: addresses that the nearest pod of a CNF holds, by VRRP of keepalived. All pods
 * are backups; a nearer pod has the higher priority. Options as OpenWRT's init script of keepalived
 * reads them (2.3.3): addresses and peers are sections of their own, which an instance names.
 */
import { isIP, isIPv6 } from 'node:net';
import * as z from 'zod';
import { all, any, given, not, specRule } from '../conditions.ts';
import { optionalDevice, deviceUse } from '../device.ts';
import { count, interfaceAddress, optionalNetworkName } from '../fields.ts';
import { defineKind, type RenderContext } from '../kind.ts';
import { NO, ruleResource, section } from '../render.ts';
import { oneOf } from '../schema.ts';
import { uciName } from '../../uci/names.ts';
import type { UciSection } from '../../uci/model.ts';

/** Kept by one VRRP packet. */
const MAX_ADDRESSES = 16;
/** The priority of the pod that has the traffic. 255 is that of the address' owner. */
const TOP_PRIORITY = 200;
const PRIORITY_STEP = 20;
const DEFAULT_ROUTER = '51';
const DEFAULT_INTERVAL = '1';

const spec = z.strictObject({
  network: optionalNetworkName().describe(
    'A network that the CNF pod is attached to, on whose interface the addresses are. Either this or interface.',
  ),
  interface: optionalDevice().describe('Device on which the addresses are.'),
  addresses: z
    .array(interfaceAddress())
    .min(1)
    .max(MAX_ADDRESSES)
    .describe('The addresses, of one family, each with its prefix length or alone.'),
  virtualRouterId: count(1, 255).describe(
    'Number of the virtual router; another one for each VirtualAddress on a link. Default: 51.',
  ),
  advertInterval: count(1, 40).describe(
    'Seconds between two adverts; after three that are missed another pod takes over. Default: 1.',
  ),
  peers: oneOf(['auto', 'multicast']).describe(
    'auto: adverts go to the addresses that other pods of the CNFDeployment have on the interface, and by multicast while none is known. Default: auto.',
  ),
});
type Spec = z.infer<typeof spec>;

const ROUTER = 'virtual router ';
const ADDRESS = 'virtual address ';
const routerOn = (id: string, place: string): string => `${ROUTER}${id} on ${place}`;
/** Whatever its prefix length. */
const addressOf = (one: string): string => `${ADDRESS}${one.split('/')[0]}`;

const isV6 = ({ addresses }: Pick<Spec, 'addresses'>): boolean =>
  isIPv6(addresses[0]?.split('/')[0] ?? '');

/**
 * Pods that differ in it take each other's adverts for broken ones, or hear none, so that two of
 * them hold the addresses until all are alike (seen with keepalived 2.2.7).
 */
const OF_ALL_PODS =
  'cannot change: delete this VirtualAddress, and make a new one with another virtualRouterId';

/** `isText`: CEL takes a text that is converted for one of any length. */
const celOf = (object: string, field: string, absent: string, isText: boolean): string => {
  const path = `${object}.spec.${field}`;
  const value = isText ? path : `string(${path})`;
  return `(has(${path}) && ${value} != '' ? ${value} : '${absent}')`;
};
const isOfAllPods = (field: keyof Spec, absent: string, isText = false) => ({
  cel: `${celOf('self', field, absent, isText)} == ${celOf('oldSelf', field, absent, isText)}`,
  message: OF_ALL_PODS,
  path: `spec.${field}`,
});

export const virtualAddress = defineKind({
  ...ruleResource,
  kind: 'VirtualAddress',
  plural: 'virtualaddresses',
  shortNames: ['vip'],
  description: 'Addresses that the pod of a CNF which is nearest to the traffic holds, by VRRP.',
  spec,
  specRules: [
    specRule('network', any(given('network'), given('interface')), 'is required without interface'),
    specRule(
      'interface',
      not(all(given('network'), given('interface'))),
      'must be absent where network is given',
    ),
    {
      cel: "self.addresses.all(one, one.contains(':') == self.addresses[0].contains(':'))",
      message: 'must be of one address family: IPv4 and IPv6 need a VirtualAddress each',
      path: 'spec.addresses',
      holds: ({ addresses }) =>
        addresses.every((one) => one.includes(':') === addresses[0]?.includes(':')),
    },
  ],
  changeRules: [
    {
      cel: 'self.spec.addresses.size() == oldSelf.spec.addresses.size()',
      message: `their number ${OF_ALL_PODS}`,
      path: 'spec.addresses',
    },
    {
      cel: 'self.spec.addresses.all(a, a in oldSelf.spec.addresses) || !self.spec.addresses.exists(a, a in oldSelf.spec.addresses)',
      message: `some of them ${OF_ALL_PODS}`,
      path: 'spec.addresses',
    },
    isOfAllPods('virtualRouterId', DEFAULT_ROUTER),
    isOfAllPods('advertInterval', DEFAULT_INTERVAL),
    isOfAllPods('peers', 'auto', true),
  ],
  networks: ({ network }) => (network === undefined ? [] : [{ path: 'spec.network', network }]),
  devices: ({ interface: device }) => deviceUse('spec.interface', device),
  claims: ({ network, interface: device, virtualRouterId, addresses }) => [
    {
      path: 'spec.virtualRouterId',
      key: routerOn(virtualRouterId ?? DEFAULT_ROUTER, network ?? device ?? ''),
      onLink: true,
    },
    ...addresses.map((one, index) => ({ path: `spec.addresses[${index}]`, key: addressOf(one) })),
  ],
  uci: {
    package: 'keepalived',
    withoutPackage: 'UnsupportedByDriver',
    ownership: 'prefix',
    sectionPrefix: 'sdewan_vip_',
    identities: ({ type, options }) => {
      if (type === 'vrrp_instance')
        return [routerOn(String(options['virtual_router_id']), String(options['interface']))];
      return type === 'ipaddress' ? [addressOf(String(options['address']))] : [];
    },
    pathOf: (identity) => {
      if (identity.startsWith(ROUTER)) return 'spec.virtualRouterId';
      return identity.startsWith(ADDRESS) ? 'spec.addresses' : undefined;
    },
    usesPlace: true,
    lacks: (_, { observed }) =>
      observed('keepalived').some(
        ({ name, options: { enabled } }) => name === 'globals' && NO.has(enabled),
      )
        ? [
            {
              path: 'spec',
              reason: 'UnsupportedByDriver',
              message:
                'keepalived of this OpenWRT is switched off: set option enabled of its section globals to 1, and start it',
            },
          ]
        : [],
    render: (rule, context) => {
      const { sectionName } = context;
      const named = rule.addresses.map((one, index) =>
        section('ipaddress', `${sectionName}_${index + 1}`, {
          name: `${sectionName}_${index + 1}`,
          address: one,
        }),
      );
      return [
        ...named,
        section('vrrp_instance', sectionName, {
          name: sectionName,
          state: 'BACKUP',
          interface: deviceIn(rule, context),
          virtual_router_id: rule.virtualRouterId ?? DEFAULT_ROUTER,
          priority: String(TOP_PRIORITY - PRIORITY_STEP * context.place.distance),
          advert_int: rule.advertInterval ?? DEFAULT_INTERVAL,
          virtual_ipaddress: named.map(({ name }) => name),
          ...unicast(rule, context),
        }),
      ];
    },
    shared: (rule, context) => unicast(rule, context).unicast_peer.map(peer),
  },
});

const deviceIn = (
  { network, interface: device }: Spec,
  { interfaceOf, deviceOf }: RenderContext,
): string => (network === undefined ? deviceOf(device ?? '') : interfaceOf(network));

/**
 * VRRP speaks of the addresses of one family to peers of that. keepalived takes the source from the
 * device: with IPv6 the link-local address, of which the other's socket, bound to the address that
 * it is a peer by, hears nothing (measured, 2.2.7). So it is told, or speaks by multicast.
 */
const unicast = (
  rule: Spec,
  context: RenderContext,
): { unicast_src_ip?: string | undefined; unicast_peer: string[] } => {
  const device = deviceIn(rule, context);
  const family = isV6(rule) ? 6 : 4;
  const ofFamily = (known: readonly string[] = []): string[] =>
    [...new Set(known.filter((one) => isIP(one) === family))].toSorted();
  const unicast_peer = rule.peers === 'multicast' ? [] : ofFamily(context.place.peers.get(device));
  if (family === 4 || unicast_peer.length === 0) return { unicast_peer };
  const [unicast_src_ip] = ofFamily(context.place.own?.get(device));
  return unicast_src_ip === undefined ? { unicast_peer: [] } : { unicast_src_ip, unicast_peer };
};

/** Its name is the address, which init scripts without sections for peers take from the list. */
const peer = (address: string): UciSection =>
  section('peer', `sdewan_peer_${uciName(address.replaceAll(':', '_'))}`, {
    name: address,
    address,
  });
