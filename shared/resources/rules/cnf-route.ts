/** CNFRoute: a route of the CNF, as a `route` section of OpenWRT's network configuration. */
import { absent, any, is, sameFamily, specRule } from '../conditions.ts';
import { isIPv6 } from 'node:net';
import * as z from 'zod';
import { device, deviceUse } from '../device.ts';
import { address, destination } from '../fields.ts';
import {
  hostBitsOf,
  icnResource,
  inNameSpace,
  oneAddress,
  oneNetwork,
  inOwnPackage,
} from '../icn.ts';
import { defineKind } from '../kind.ts';
import { CNF_TABLE, interfaceOn, mwan3Removes } from '../network.ts';
import { ruleResource, section } from '../render.ts';
import { oneOf } from '../schema.ts';

const spec = z.strictObject({
  dst: destination().describe('Destination: an address, a network, or default.'),
  gw: address().describe('Address of the next hop. Absent: the destination is on the link.'),
  dev: device().describe('Device by which packets leave, and not the name of its network.'),
  table: oneOf(['default', 'cnf']).describe(
    `default: the main routing table; cnf: table ${CNF_TABLE}, which SdewanApplications use. Default: default.`,
  ),
});

const isV6 = ({ dst, gw }: { dst: string; gw?: string | undefined }): boolean =>
  isIPv6(dst.split('/')[0] ?? '') || (gw !== undefined && isIPv6(gw));

export const cnfRoute = defineKind({
  ...ruleResource,
  kind: 'CNFRoute',
  plural: 'cnfroutes',
  shortNames: ['cnfrt'],
  description:
    'A route of the CNF. Packets that it sends back by the zone they came in by need forward ACCEPT of that zone.',
  isMadeByCoordinator: true,
  spec,
  specRules: [
    specRule(
      'gw',
      any(absent('gw'), is('dst', 'default'), sameFamily('gw', 'dst')),
      'must be of the same address family as dst',
    ),
  ],
  devices: ({ dev }) => deviceUse('spec.dev', dev),
  cautions: ({ table }) =>
    table === 'cnf' ? [`spec.table: a route in table ${CNF_TABLE} ${mwan3Removes.words}`] : [],
  uci: {
    package: 'network',
    ownership: 'prefix',
    sectionPrefix: 'sdewan_route_',
    lacks: ({ dev }, { deviceOf, observed }) =>
      interfaceOn(deviceOf(dev), observed('network'))
        ? []
        : [
            {
              path: 'spec.dev',
              reason: 'WaitingForInterface',
              message: `OpenWRT's network configuration has no interface on device ${deviceOf(dev)}`,
            },
          ],
    render: ({ dst, gw, dev, table }, { sectionName, deviceOf, observed }) => {
      const v6 = isV6({ dst, gw });
      return [
        section(v6 ? 'route6' : 'route', sectionName, {
          interface: interfaceOn(deviceOf(dev), observed('network')),
          target: dst === 'default' ? (v6 ? '::/0' : '0.0.0.0/0') : dst,
          gateway: gw,
          table: table === 'cnf' ? CNF_TABLE : undefined,
        }),
      ];
    },
  },
  icn: icnResource<z.infer<typeof spec>>({
    collection: 'route/routes',
    ...inOwnPackage,
    limits: {
      dst: (dst) => (dst === 'default' ? undefined : (oneNetwork(dst) ?? hostBitsOf(dst))),
      gw: oneAddress,
    },
    // The second of two routes to one place is not set, and its removal removes the first.
    identities: ({ options: { dst, table = 'default' } }) =>
      inNameSpace('route', [`${String(table)} ${String(dst)}`]),
    object: ({ dst, gw, dev, table }, { deviceOf }) => ({
      dst: dst.replace(/\/32$/, ''),
      gw,
      dev: deviceOf(dev),
      table,
    }),
  }),
});
