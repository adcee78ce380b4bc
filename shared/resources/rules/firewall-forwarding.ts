/** FirewallForwarding: lets packets of one zone go to another. */
import * as z from 'zod';
import { ignored, referenceOrAny } from '../fields.ts';
import { A_ZONE, family, icnAnonymous, zoneName, zoneReferences } from './firewall.ts';
import { icnResource, isSectionId, oneZone } from '../icn.ts';
import { defineKind } from '../kind.ts';
import { label, ruleResource, section } from '../render.ts';

const spec = z.strictObject({
  name: ignored(),
  src: referenceOrAny(A_ZONE).describe('Zone from which packets come, * for any.'),
  dest: referenceOrAny(A_ZONE).describe('Zone to which packets go, * for any.'),
  family: family(),
});

export const firewallForwarding = defineKind({
  ...ruleResource,
  kind: 'FirewallForwarding',
  plural: 'firewallforwardings',
  shortNames: ['fwf'],
  description: 'Allows connections from one firewall zone to another.',
  spec,
  references: zoneReferences,
  uci: {
    package: 'firewall',
    ownership: 'prefix',
    sectionPrefix: 'sdewan_fwd_',
    // Neither OpenWRT nor LuCI names a forwarding.
    icn: { ...icnAnonymous('forwarding'), isOnlyIcns: () => true },
    render: ({ src, dest, family: addressFamily }, { crName, sectionName, uciNameOf }) => [
      section('forwarding', sectionName, {
        name: label(crName),
        src: zoneName(src, uciNameOf),
        dest: zoneName(dest, uciNameOf),
        family: addressFamily,
      }),
    ],
  },
  icn: icnResource<z.infer<typeof spec>>({
    collection: 'firewall/forwardings',
    limits: { src: oneZone, dest: oneZone },
    // What has no name is listed by its id.
    isOnlyIcns: ({ name }) => !isSectionId(name),
    object: ({ src, dest, family: addressFamily }, { uciNameOf }) => ({
      src: zoneName(src, uciNameOf),
      dest: zoneName(dest, uciNameOf),
      family: addressFamily,
    }),
  }),
});
