/** IpsecHost: an IPsec remote that this CNF connects to as a host. */
import * as z from 'zod';
import { certificateFiles } from './ipsec-certificates.ts';
import { connectionFields, remoteFields, virtualAddress } from './ipsec-remote-fields.ts';
import {
  icnRemote,
  remoteLacks,
  remoteReferences,
  remoteResource,
  remoteRules,
  remoteSecrets,
  renderRemote,
} from './ipsec-remote.ts';
import { defineKind } from '../kind.ts';
import { ruleResource } from '../render.ts';

const connection = z.strictObject({
  ...connectionFields(),
  local_sourceip: virtualAddress().describe('Address of this side, or %config to request one.'),
});

export const ipsecHost = defineKind({
  ...ruleResource,
  kind: 'IpsecHost',
  plural: 'ipsechosts',
  singular: 'ipsechost',
  shortNames: ['ipsech'],
  description: 'An IPsec remote that the CNF connects to as a host.',
  holdsKeys: true,
  runsPrograms: true,
  spec: z.strictObject(remoteFields(connection)),
  specRules: remoteRules,
  references: remoteReferences,
  secrets: remoteSecrets,
  uci: {
    package: 'ipsec',
    ownership: 'ledger',
    sectionPrefix: '',
    icn: icnRemote,
    lacks: remoteLacks,
    render: renderRemote,
    files: certificateFiles,
  },
  icn: remoteResource,
});
