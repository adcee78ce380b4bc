/**
 * CNFLocalService: what clients send to a remote service goes to a local one instead. Becomes a
 * CNFNAT for each address of the remote service.
 */
import * as z from 'zod';
import { onePort } from '../fields.ts';
import { host, isV6, ofFamily } from '../generation.ts';
import type { Child } from '../generation.ts';
import { defineKind } from '../kind.ts';
import { ruleResource } from '../render.ts';

const spec = z.strictObject({
  localservice: host().describe(
    'Host name or address of the local service. If it has several addresses of a family, the first in sorted order is used.',
  ),
  localport: onePort().describe('Its port.'),
  remoteservice: host().describe(
    'Host name or address of the remote service; all its addresses are redirected.',
  ),
  remoteport: onePort().describe('The port of the remote service.'),
});

export const cnfLocalService = defineKind({
  ...ruleResource,
  kind: 'CNFLocalService',
  plural: 'cnflocalservices',
  shortNames: ['cnflsvc'],
  description:
    'Redirects traffic for a remote service to a local one, by CNFNATs that the coordinator makes.',
  spec,
  generates: {
    kinds: ['CNFNAT'],
    hosts: ({ localservice, remoteservice }) => [
      { path: 'spec.localservice', name: localservice },
      { path: 'spec.remoteservice', name: remoteservice },
    ],
    children: ({ localservice, localport, remoteservice, remoteport }, addressesOf) => {
      const children = addressesOf(remoteservice).flatMap((remote): Child[] => {
        const [local] = ofFamily(addressesOf(localservice), isV6(remote));
        if (local === undefined) return [];
        return [
          {
            kind: 'CNFNAT',
            suffix: 'nat',
            numbered: true,
            spec: {
              target: 'DNAT',
              proto: 'tcp',
              src_dip: remote,
              src_dport: remoteport,
              dest_ip: local,
              dest_port: localport,
            },
          },
        ];
      });
      return children.length > 0
        ? children
        : {
            path: 'spec.localservice',
            message: `${localservice} and ${remoteservice} have no address family in common`,
          };
    },
    icnStatus: ({ localservice, localport, remoteservice, remoteport }, addressesOf) => ({
      localip: addressesOf(localservice)[0] ?? '',
      localport,
      remoteips: [...addressesOf(remoteservice)],
      remoteport,
    }),
  },
});
