/** IpsecSite: an IPsec remote that connects networks behind this CNF with the other side's. */
import * as z from 'zod';
import { plainNetworks } from '../fields.ts';
import { connectionFields, remoteFields } from './ipsec-remote-fields.ts';
import { remoteKind } from './ipsec-remote.ts';
import { specColumn } from '../columns.ts';
import { defineKind } from '../kind.ts';

const connection = z.strictObject({
  ...connectionFields(),
  local_subnet: plainNetworks().describe('Networks of this side.'),
});

export const ipsecSite = defineKind({
  ...remoteKind,
  kind: 'IpsecSite',
  plural: 'ipsecsites',
  shortNames: ['ipsecs'],
  description:
    'An IPsec remote that connects networks behind the CNF with networks behind the remote.',
  wideColumns: [specColumn('Remote', 'remote')],
  spec: z.strictObject(remoteFields(connection)),
});
