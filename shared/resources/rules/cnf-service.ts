/**
 * CNFService: a host name that clients reach at a port of the CNF. Becomes a CNFNAT for each
 * address family that the name has. The ports mean what ICN's README says; its controller takes
 * them the other way round.
 */
import * as z from 'zod';
import { onePort, plainNetworks } from '../fields.ts';
import { host, ofFamily } from '../generation.ts';
import type { Child } from '../generation.ts';
import { defineKind } from '../kind.ts';
import { ruleResource } from '../render.ts';

const spec = z.strictObject({
  fullname: host().describe(
    'Host name or address of the service. If it has several addresses, the first in sorted order is used.',
  ),
  port: onePort().describe('The port of the CNF that clients use.'),
  dport: onePort().describe('The port of the service.'),
  cidr: plainNetworks().describe("Ignored, also by ICN's controller."),
});

/** Second in ICN's chain, behind what firewall3 puts first. */
const INDEX = '2';

export const cnfService = defineKind({
  ...ruleResource,
  kind: 'CNFService',
  plural: 'cnfservices',
  shortNames: ['cnfsvc'],
  description:
    'Makes a service with a host name reachable at a port of the CNF, by CNFNATs that the coordinator makes.',
  spec,
  generates: {
    kinds: ['CNFNAT'],
    hosts: ({ fullname }) => [{ path: 'spec.fullname', name: fullname }],
    children: ({ fullname, port, dport }, addressesOf) =>
      [false, true].flatMap((v6): Child[] => {
        const [address] = ofFamily(addressesOf(fullname), v6);
        if (address === undefined) return [];
        return [
          {
            kind: 'CNFNAT',
            suffix: v6 ? 'nat6' : 'nat',
            numbered: false,
            spec: {
              target: 'DNAT',
              proto: 'tcp',
              src_dport: port,
              dest_ip: address,
              dest_port: dport,
              index: INDEX,
            },
          },
        ];
      }),
    icnStatus: ({ fullname, port, dport }, addressesOf) => ({
      sip: addressesOf(fullname)[0] ?? '',
      port,
      dport,
    }),
  },
});
