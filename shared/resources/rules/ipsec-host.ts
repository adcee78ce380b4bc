/** IpsecHost: an IPsec remote that this CNF connects to as a host. */
import * as z from 'zod';
import { connectionFields, remoteFields, virtualAddress } from './ipsec-remote-fields.ts';
import { remoteKind } from './ipsec-remote.ts';
import { defineKind } from '../kind.ts';

const connection = z.strictObject({
  ...connectionFields(),
  local_sourceip: virtualAddress().describe('Address of this side, or %config to request one.'),
});

export const ipsecHost = defineKind({
  ...remoteKind,
  kind: 'IpsecHost',
  plural: 'ipsechosts',
  shortNames: ['ipsech'],
  description: 'An IPsec remote that the CNF connects to as a host.',
  spec: z.strictObject(remoteFields(connection)),
});
