/** What the kinds of OpenWRT's firewall share. */
import { absent, all, any, matchesAsText, specRule } from '../conditions.ts';
import type { IcnSections, Reference } from '../kind.ts';
import { referenceTo } from '../render.ts';
import { oneOf } from '../schema.ts';

export const A_ZONE = 'a FirewallZone';

/** ICN's REST makes the firewall's sections anonymous, and finds them by their option `name`. */
export const icnAnonymous = (type: string, target?: string): IcnSections => ({
  nameOf: ({ anonymous, options, type: found }) =>
    anonymous &&
    found === type &&
    typeof options.name === 'string' &&
    (target === undefined || options.target === target)
      ? options.name
      : undefined,
});

/** A zone as the section has it; `*` stays what it is. */
export const zoneName = (
  zoneReference: string | undefined,
  uciNameOf: (reference: string) => string,
): string | undefined =>
  zoneReference === undefined || zoneReference === '*' ? zoneReference : uciNameOf(zoneReference);

/** The zones that a spec names in `src` and `dest`. */
export const zoneReferences = ({ src, dest }: Between): Reference[] => [
  ...referenceTo('FirewallZone', 'spec.src', src),
  ...referenceTo('FirewallZone', 'spec.dest', dest),
];

type Between = { src?: string | undefined; dest?: string | undefined };

export const family = () =>
  oneOf(['ipv4', 'ipv6', 'any']).describe('Address family. Default: that of the addresses.');

/**
 * Firewalls leave a port out where the protocol has none, and the rule then matches more than it
 * says. `withoutProto`: whether tcp and udp are meant where `proto` is absent, or all protocols.
 */
export const portsNeedProtocol = (
  fields: readonly string[],
  withoutProto: 'tcpudp' | 'all' = 'tcpudp',
): ReturnType<typeof specRule> =>
  specRule(
    'proto',
    any(
      all(...fields.map(absent)),
      ...(withoutProto === 'tcpudp' ? [absent('proto')] : []),
      matchesAsText('proto', `${WITH_PORTS}([ ,]+${WITH_PORTS})*`),
    ),
    'ports need tcp, udp or tcpudp, and no other protocol',
  );

const WITH_PORTS = '(tcp|udp|tcpudp|6|17)';
