/** Mwan3Rule: which traffic uses which policy. Its name is mwan3's, so a ledger tells whose. */
import * as z from 'zod';
import { absent, all, any, is, specRule } from '../conditions.ts';
import { count, flag, multiports, network, parts, reference } from '../fields.ts';
import { icnResource, inNameSpace, oneNetwork, onePort } from '../icn.ts';
import { defineKind } from '../kind.ts';
import { BUILT_IN_POLICIES, mwan3NameLimit } from './mwan3.ts';
import { referenceTo, ruleResource, section } from '../render.ts';
import { oneOf } from '../schema.ts';

const spec = z.strictObject({
  policy: reference('a Mwan3Policy').describe(
    `The Mwan3Policy to use, or one that mwan3 has built in: ${BUILT_IN_POLICIES.join(', ')}.`,
  ),
  src_ip: network().describe(
    'Source addresses. Default: all, those of the CNF pod too, so of the connections of its agent.',
  ),
  src_port: multiports().describe('Source ports; tcp and udp only.'),
  dest_ip: network().describe('Destination addresses.'),
  dest_port: multiports().describe('Destination ports; tcp and udp only.'),
  proto: oneOf(['tcp', 'udp', 'icmp', 'esp', 'ah', 'gre', 'sctp', 'udplite', 'all']).describe(
    'Protocol. Default: all.',
  ),
  family: oneOf(['ipv4', 'ipv6', 'all', 'any']).describe('Address family. Default: any.'),
  sticky: flag().describe('1: keep the traffic of one source on one network for some time.'),
  timeout: count(1, 1_000_000).describe('Duration of sticky, in seconds. Default: 600.'),
});

/** mwan3 takes ports as multiport does: `80,443,8000:8100`; a range of one port fails all rules. */
const multiport = (ports: string | undefined): string | undefined =>
  ports &&
  parts(ports)
    .join(',')
    .replaceAll('-', ':')
    .replaceAll(/\b(\d+):\1\b/g, '$1');

export const mwan3Rule = defineKind({
  ...ruleResource,
  kind: 'Mwan3Rule',
  plural: 'mwan3rules',
  shortNames: ['mwr'],
  description: 'A rule of mwan3: which traffic uses which Mwan3Policy.',
  spec,
  specRules: [
    specRule(
      'proto',
      any(all(absent('src_port'), absent('dest_port')), is('proto', 'tcp', 'udp')),
      'ports need tcp or udp: mwan3 ignores them otherwise',
    ),
  ],
  nameRules: [mwan3NameLimit],
  cautions: ({ proto, family, src_ip = '', dest_ip = '' }) =>
    proto === 'icmp' && (family === 'ipv6' || `${src_ip}${dest_ip}`.includes(':'))
      ? [
          'spec.proto: in IPv6 too mwan3 takes icmp for ICMP of IPv4, so no packet matches; write all',
        ]
      : [],
  references: ({ policy }) =>
    BUILT_IN_POLICIES.includes(policy) ? [] : referenceTo('Mwan3Policy', 'spec.policy', policy),
  uci: {
    package: 'mwan3',
    ownership: 'stamp',
    sectionPrefix: '',
    nameOf: ({ type, name }) => (type === 'rule' ? name : undefined),
    icn: { nameOf: ({ type, name }) => (type === 'rule' ? name : undefined) },
    render: ({ policy, src_port, dest_port, ...options }, { sectionName, uciNameOf }) => [
      section('rule', sectionName, {
        ...options,
        src_port: multiport(src_port),
        dest_port: multiport(dest_port),
        use_policy: uciNameOf(policy),
      }),
    ],
  },
  icn: icnResource<z.infer<typeof spec>>({
    collection: 'mwan3/rules',
    limits: {
      policy: (policy) =>
        BUILT_IN_POLICIES.includes(policy)
          ? 'does not know the policies that are built in'
          : undefined,
      src_ip: oneNetwork,
      dest_ip: oneNetwork,
      src_port: onePort,
      dest_port: onePort,
      proto: (proto) =>
        ['tcp', 'udp', 'icmp', 'all'].includes(proto)
          ? undefined
          : 'takes tcp, udp, icmp or all here',
    },
    nameOf: ({ name }) => name,
    identities: ({ name }) => inNameSpace('mwan3', [name]),
    object: ({ policy, family, ...options }, { uciNameOf }) => ({
      ...options,
      policy: uciNameOf(policy),
      family: family === 'any' ? undefined : family,
    }),
  }),
});
