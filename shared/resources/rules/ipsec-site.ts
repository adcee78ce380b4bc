/** IpsecSite: an IPsec remote that connects networks behind this CNF with networks behind the other side. */
import * as z from 'zod';
import { plainNetworks } from '../fields.ts';
import { certificateFiles } from './ipsec-certificates.ts';
import { connectionFields, remoteFields } from './ipsec-remote-fields.ts';
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
  local_subnet: plainNetworks().describe('Networks of this side.'),
});

export const ipsecSite = defineKind({
  ...ruleResource,
  kind: 'IpsecSite',
  plural: 'ipsecsites',
  singular: 'ipsecsite',
  shortNames: ['ipsecs'],
  description:
    'An IPsec remote that connects networks behind the CNF with networks behind the remote.',
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
