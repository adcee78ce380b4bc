/**
 * What OpenWRT's firewall leaves out of a rule without refusing the rule, which would then apply to
 * other packets than it says. Such a rule is not written. Each of these was seen in the kernel
 * (docs/firewall4.md).
 */
import { parts } from '../fields.ts';
import type { Lack, RenderContext } from '../kind.ts';
import { hasTypeIn } from './icmp.ts';

type Firewall = Pick<RenderContext, 'capabilities'>;

/** Fields that hold arguments of iptables. */
export const iptablesArguments = (
  fields: Readonly<Record<string, string | undefined>>,
  { capabilities }: Firewall,
): readonly Lack[] =>
  capabilities.firewall === 'fw3'
    ? []
    : Object.entries(fields).flatMap(([field, value]) =>
        value === undefined ? [] : [leftOut(field, 'fw4 ignores arguments of iptables')],
      );

const negatedProtocol = (
  { proto }: { proto?: string | undefined },
  { capabilities }: Firewall,
): readonly Lack[] =>
  capabilities.firewall === 'fw4' && proto?.includes('!') === true
    ? [leftOut('proto', 'fw4 leaves out the "!" of a protocol')]
    : [];

type WithPorts = {
  src_port?: string | undefined;
  dest_port?: string | undefined;
  src_dport?: string | undefined;
};

/**
 * One of each side: nft makes one comparison of both, which only a packet with both ports fails
 * (seen with 1.0.6, and in its sources since).
 */
const excludedPorts = (
  { src_port, dest_port, src_dport }: WithPorts,
  { capabilities }: Firewall,
): readonly Lack[] => {
  const others = Object.entries({ dest_port, src_dport }).filter(([, ports]) => isOneLess(ports));
  const [other] = others.map(([field]) => field);
  return capabilities.firewall === 'fw4' && isOneLess(src_port) && other !== undefined
    ? [
        leftOut(
          other,
          `nft leaves out only packets that have this port and that of src_port; write ranges without "!", such as 1-79 81-65535`,
        ),
      ]
    : [];
};

const isOneLess = (ports: string | undefined): boolean => {
  const [, low, high = low] = /^!(\d+)(?:-(\d+))?$/.exec(ports ?? '') ?? [];
  return low !== undefined && Number(low) === Number(high);
};

/** For kinds whose other options are all looked at. */
export const leftOutOfTranslations = (
  rule: WithPorts & { proto?: string | undefined },
  firewall: Firewall,
): readonly Lack[] => [...negatedProtocol(rule, firewall), ...excludedPorts(rule, firewall)];

type Icmp = {
  proto?: string | undefined;
  icmp_type?: readonly string[] | undefined;
  family?: string | undefined;
  src_ip?: string | undefined;
  dest_ip?: string | undefined;
};

const icmpTypes = (rule: Icmp, { capabilities }: Firewall): readonly Lack[] => {
  const types = rule.icmp_type ?? [];
  if (types.length === 0) return [];
  const protocols = parts(rule.proto ?? '');
  if (!protocols.every((protocol) => ICMP.has(protocol)))
    return [leftOut('icmp_type', "OpenWRT's firewall looks at it for icmp and ipv6-icmp only")];
  if (isAmbiguous(rule))
    return [
      leftOut('icmp_type', 'a number is another type in ICMPv6, and family does not say which'),
    ];
  if (capabilities.firewall === 'fw3') return [];
  if (types.includes('any') && !isAny(types))
    return [leftOut('icmp_type', 'fw4 reads any as type 255, unless it stands alone')];
  const untyped = protocols
    .flatMap((protocol) => (ICMP_V6.has(protocol) ? [6 as const] : familiesOf(rule)))
    .find((family) => !types.some((type) => hasTypeIn(family, type)));
  if (untyped === undefined) return [];
  return [
    leftOut('icmp_type', `none of these exists in IPv${untyped}, and fw4 leaves it out there`),
  ];
};

/**
 * Problems of the ICMP options: values that the firewall would read in another way. A number
 * without a family is one of ICMP, where it has another meaning in ICMPv6; and what fw4 makes of
 * `any` is type 255, which no packet has, instead of all types of ICMP.
 */
export const icmpOptions = (
  rule: Icmp,
  { capabilities }: Firewall,
): Pick<Icmp, 'icmp_type' | 'family'> => {
  const { icmp_type, family } = rule;
  if (icmp_type === undefined) return { icmp_type, family };
  const isAll = isAny(icmp_type) && capabilities.firewall === 'fw4';
  return { icmp_type: isAll ? undefined : icmp_type, family: isIpv4(rule) ? 'ipv4' : family };
};

const isAny = (types: readonly string[]): boolean => types.length === 1 && types[0] === 'any';

/** `any` or a number, and neither family, protocol nor address is one of IPv6. */
const needsFamily = (rule: Icmp): boolean => {
  const { family, icmp_type = [], proto = '', src_ip = '', dest_ip = '' } = rule;
  return (
    family === undefined &&
    icmp_type.some((type) => type === 'any' || isNumber(type)) &&
    !`${src_ip}${dest_ip}`.includes(':') &&
    !parts(proto).some((protocol) => ICMP_V6.has(protocol))
  );
};

const isIpv4 = (rule: Icmp): boolean =>
  needsFamily(rule) && (rule.icmp_type ?? []).every((type) => hasTypeIn(4, type));

/** Beside a number stands the name of a type that only ICMPv6 has. */
const isAmbiguous = (rule: Icmp): boolean =>
  (rule.icmp_type ?? []).some(isNumber) && needsFamily(rule) && !isIpv4(rule);

const isNumber = (type: string): boolean => /^\d/.test(type);

const ICMP_V6: ReadonlySet<string> = new Set(['ipv6-icmp', 'icmpv6', '58']);
const ICMP: ReadonlySet<string> = new Set(['icmp', '1', ...ICMP_V6]);

/** The families that fw4 makes rules for: where none is given, those of addresses and types. */
const familiesOf = ({ family, icmp_type = [], src_ip, dest_ip }: Icmp): readonly (4 | 6)[] => {
  if (family === 'ipv4') return [4];
  if (family === 'ipv6') return [6];
  if (family === 'any') return [4, 6];
  const addresses = [src_ip, dest_ip].flatMap((value) => (value === undefined ? [] : parts(value)));
  const speaksFor = (version: 4 | 6): boolean =>
    addresses.some((address) => address.includes(':') === (version === 6)) ||
    icmp_type.some((type) => hasTypeIn(version, type));
  const spoken = ([4, 6] as const).filter(speaksFor);
  return spoken.length === 0 ? [4, 6] : spoken;
};

/** @param what the firewall does, as the beginning of a sentence */
export const leftOut = (field: string, what: string): Lack => ({
  path: `spec.${field}`,
  reason: 'UnsupportedByDriver',
  message: `${what}, so the rule would apply to other packets than it says; it is not in force`,
});

/** For kinds that match packets by all of their fields. */
export const leftOutOfPackets = (
  rule: WithPorts & Icmp & { extra?: string | undefined },
  firewall: Firewall,
): readonly Lack[] => [
  ...iptablesArguments({ extra: rule.extra }, firewall),
  ...leftOutOfTranslations(rule, firewall),
  ...icmpTypes(rule, firewall),
];
