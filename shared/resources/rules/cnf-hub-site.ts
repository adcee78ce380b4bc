/**
 * CNFHubSite: a site that is reached through IPsec. On a hub it becomes a CNFRoute for each
 * destination, on a device a CNFRoute and a CNFNAT that gives packets the device's own address
 * there.
 */
import * as z from 'zod';
import { any, given, is, matches, specRule, when } from '../conditions.ts';
import { address, plainNetwork } from '../fields.ts';
import { isV6, ofFamily, optionalHost } from '../generation.ts';
import type { AddressesOf, Child } from '../generation.ts';
import { defineKind } from '../kind.ts';
import { ruleResource } from '../render.ts';

const TYPES = ['Hub', 'Device'] as const;

const spec = z.strictObject({
  type: z
    .enum(TYPES, { error: `must be one of ${TYPES.join(', ')}` })
    .describe('Role of this CNF: a hub, or a device behind one.'),
  site: optionalHost().describe('Host in the site; all its addresses are destinations.'),
  subnet: plainNetwork().describe('Network of the site.'),
  hubip: address().describe('Hub: address of the hub; the device is vti_<hubip>.'),
  devicepip: address().describe('Device: its own address in the tunnel.'),
});
type Spec = z.infer<typeof spec>;

/** Linux takes no longer names than 15 characters, and `vti_` is four of them. */
const MAX_HUB_IP = 11;

/** The address that tells which family can pass. */
const ownAddress = ({ type, hubip = '', devicepip = '' }: Spec): string =>
  type === 'Hub' ? hubip : devicepip;

const destinations = (rule: Spec, addressesOf: AddressesOf): string[] => {
  const v6 = isV6(ownAddress(rule));
  const { site, subnet } = rule;
  const ofSite = site === undefined ? [] : ofFamily(addressesOf(site), v6);
  const all = [...(subnet === undefined ? [] : [subnet]), ...ofSite];
  return [...new Set(all.filter((one) => isV6(one) === v6))];
};

const childrenFor = ({ type, hubip = '', devicepip = '' }: Spec, dst: string): Child[] => {
  const route = { kind: 'CNFRoute', suffix: 'route', numbered: true };
  if (type === 'Hub') return [{ ...route, spec: { dst, dev: `vti_${hubip}`, table: 'default' } }];
  return [
    { ...route, spec: { dst, dev: `#${devicepip}`, table: 'cnf' } },
    {
      kind: 'CNFNAT',
      suffix: 'snat',
      numbered: true,
      spec: { target: 'SNAT', dest: '#source', src_dip: devicepip, dest_ip: dst, index: '1' },
    },
  ];
};

export const cnfHubSite = defineKind({
  ...ruleResource,
  kind: 'CNFHubSite',
  plural: 'cnfhubsites',
  shortNames: ['cnfhub'],
  description:
    'Routes to a site through the IPsec tunnels of a hub or a device, by CNFRoutes and CNFNATs that the coordinator makes.',
  spec,
  specRules: [
    specRule('site', any(given('site'), given('subnet')), 'site or subnet is required'),
    specRule(
      'hubip',
      when(is('type', 'Hub'), matches('hubip', `[0-9.]{7,${MAX_HUB_IP}}`)),
      `is required for a Hub, and must be an IPv4 address of at most ${MAX_HUB_IP} characters: Linux takes at most 15 characters for the device vti_<hubip>`,
    ),
    specRule(
      'devicepip',
      when(is('type', 'Device'), given('devicepip')),
      'is required for a Device',
    ),
  ],
  generates: {
    kinds: ['CNFNAT', 'CNFRoute'],
    hosts: ({ site }) => (site === undefined ? [] : [{ path: 'spec.site', name: site }]),
    children: (rule, addressesOf) => {
      const children = destinations(rule, addressesOf).flatMap((dst) => childrenFor(rule, dst));
      if (children.length > 0) return children;
      const family = isV6(ownAddress(rule)) ? 'IPv6' : 'IPv4';
      return { path: 'spec.site', message: `neither site nor subnet has an ${family} address` };
    },
    icnStatus: ({ type, site, subnet, hubip, devicepip }, addressesOf) => ({
      type,
      remoteips: site === undefined ? [] : [...addressesOf(site)],
      ...(subnet !== undefined && { subnet }),
      ...(hubip !== undefined && { hubip }),
      ...(devicepip !== undefined && { devicepip }),
    }),
  },
});
