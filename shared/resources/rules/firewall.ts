/** What the kinds of OpenWRT's firewall share. */
import { parts } from '../fields.ts';
import type { IcnSections } from '../kind.ts';
import type { SpecRule } from '../resource.ts';
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

export const family = () =>
  oneOf(['ipv4', 'ipv6', 'any']).describe('Address family. Default: as the addresses tell.');

type Ports<Name extends string> = { readonly [name in Name]?: string | undefined } & {
  readonly proto?: string | undefined;
};

/**
 * Firewalls leave a port out where the protocol has none, and the rule then matches more than it says.
 * `withoutProto`: whether tcp and udp are meant where `proto` is absent, or all protocols.
 */
export const portsNeedProtocol = <Name extends string>(
  fields: readonly Name[],
  withoutProto: 'tcpudp' | 'all' = 'tcpudp',
): SpecRule<Ports<Name>> => ({
  path: 'spec.proto',
  cel: `(${fields.map((name) => `(!has(self.${name}) || self.${name} == '')`).join(' && ')}) || ${
    withoutProto === 'tcpudp'
      ? `!has(self.proto) || string(self.proto).matches('^(${WITH_PORTS}([ ,]+${WITH_PORTS})*)?$')`
      : `(has(self.proto) && string(self.proto).matches('^${WITH_PORTS}([ ,]+${WITH_PORTS})*$'))`
  }`,
  message: 'ports need tcp, udp or tcpudp, and no other protocol',
  holds: (spec) =>
    fields.every((name) => spec[name] === undefined) ||
    (spec.proto === undefined
      ? withoutProto === 'tcpudp'
      : parts(spec.proto).every((protocol) => HAS_PORTS.test(protocol))),
});

const WITH_PORTS = '(tcp|udp|tcpudp|6|17)';
const HAS_PORTS = new RegExp(`^${WITH_PORTS}$`);
