/** Sections `rule` and `forwarding`. */
import type { UciSection } from '../uci/model.ts';
import { alternatives, byFamily, familyIn, has, type ByFamily } from './addresses.ts';
import {
  inferFamily,
  REJECT_CHAIN,
  verdictChain,
  zoneOf,
  type Building,
  type FamilyOrBoth,
  type ZoneReference,
} from './building.ts';
import {
  type Ports,
  comparedByNft,
  familyCondition,
  helperCondition,
  icmpConditions,
  laterConditions,
  macConditions,
  portConditions,
  protocolCondition,
  protocolsOf,
  setCondition,
} from './matching.ts';
import type { IcmpType } from './protocols.ts';
import { Options, SkippedSection } from './sections.ts';
import type { Action, ChainRule, Condition, Family, Verdict } from './types.ts';
import * as values from './values.ts';

export const readForwarding = (section: UciSection, firewall: Building): void => {
  const options = new Options(section);
  const src = options.one('src', firewall.zoneReference);
  const dest = options.one('dest', firewall.zoneReference);
  if (!src || !dest) throw new SkippedSection('it needs src and dest');
  const family = inferFamily(options.one('family', values.family), [
    [zoneOf(src)?.family, 'source zone is'],
    [zoneOf(dest)?.family, 'destination zone is'],
  ]);
  if (options.one('enabled', values.bool) === false) throw new SkippedSection('it is disabled');
  firewall.add(src.any ? 'forward' : `forward_${src.zone.name}`, {
    origin: { of: 'section', section },
    conditions: familyCondition(family),
    action: dest.any
      ? { do: 'accept' }
      : { do: 'jump', chain: verdictChain('accept', 'to', dest.zone.name) },
  });
};

type Ends = { src: ZoneReference | undefined; dest: ZoneReference | undefined };

/** What a rule does, and where. */
type Place = Ends & { chain: string; conditions: readonly Condition[]; action: Action };

type Parts = {
  sources: ByFamily;
  destinations: ByFamily;
  sourcePorts: Ports;
  destinationPorts: Ports;
  types: readonly { 4: IcmpType | undefined; 6: IcmpType | undefined }[];
  hasDscp: boolean;
};

export const readRule = (section: UciSection, firewall: Building): void => {
  const options = new Options(section);
  const network = values.network(firewall.networks);
  const parts: Parts = {
    sources: byFamily(options.list('src_ip', network)),
    destinations: byFamily(options.list('dest_ip', network)),
    sourcePorts: options.list('src_port', values.port),
    destinationPorts: options.list('dest_port', values.port),
    types: options.list('icmp_type', values.icmpType),
    hasDscp: options.has('dscp'),
  };
  const family = options.one('family', values.family);
  const ends = {
    src: options.one('src', firewall.zoneReference),
    dest: options.one('dest', firewall.zoneReference),
  };
  const place = placeOf(options, ends);
  const macs = macConditions(options.list('src_mac', values.mac));
  const helper = helperCondition(options);
  const set = setCondition(options, firewall);
  const last = [
    ...macs,
    ...helper,
    ...laterConditions(options),
    ...dscp(options),
    ...set.conditions,
  ];
  if (options.one('enabled', values.bool) === false) throw new SkippedSection('it is disabled');
  for (const { name } of protocolsOf(options))
    firewall.attempt(section, () => {
      const given = name === 'ipv6-icmp' ? 6 : family;
      const own = inferFamily(given, [
        [set.family, 'set is'],
        [familyIn(parts.sources), 'source addresses are'],
        [familyIn(parts.destinations), 'destination addresses are'],
        [zoneOf(ends.src)?.family, 'source zone is'],
        [zoneOf(ends.dest)?.family, 'destination zone is'],
      ]);
      const rules = expanded(name, own, parts).map((conditions): ChainRule => ({
        origin: { of: 'section', section },
        conditions: comparedByNft([...place.conditions, ...conditions, ...last]),
        action: place.action,
      }));
      firewall.add(place.chain, ...rules);
    });
};

const dscp = (options: Options): Condition[] => {
  const value = options.one('dscp', values.dscp);
  return value ? [{ on: 'dscp', ...value, option: 'dscp' }] : [];
};

/** Conditions of each rule of the kernel that one protocol of the section becomes. */
const expanded = (
  protocol: string | undefined,
  given: FamilyOrBoth,
  parts: Parts,
): readonly (readonly Condition[])[] => {
  const hasPorts = protocol === 'tcp' || protocol === 'udp';
  const ports = hasPorts
    ? [
        ...portConditions(parts.sourcePorts, 'sourcePort', 'src_port'),
        ...portConditions(parts.destinationPorts, 'destinationPort', 'dest_port'),
      ]
    : [];
  const types = typesOf(protocol, parts);
  const isOf = (family: Family): boolean =>
    has(parts.sources, family) || has(parts.destinations, family) || types[family].length > 0;
  const family = given ?? (isOf(4) === isOf(6) ? 0 : isOf(4) ? 4 : 6);
  if (family === 0 && !isOf(4) && !isOf(6) && !parts.hasDscp)
    return [[...protocolCondition(protocol, 0), ...ports]];
  const families: readonly Family[] = family === 0 ? [4, 6] : [family];
  return families.flatMap((one) =>
    alternatives(parts.sources[one], { on: 'source', option: 'src_ip', family: one }).flatMap(
      (from) =>
        alternatives(parts.destinations[one], {
          on: 'destination',
          option: 'dest_ip',
          family: one,
        }).map((to) => [
          ...familyCondition(one),
          ...(types[one].length > 0
            ? icmpConditions(types[one], one)
            : protocolCondition(protocol, one)),
          ...from,
          ...to,
          ...ports,
        ]),
    ),
  );
};

const typesOf = (
  protocol: string | undefined,
  { types }: Parts,
): { 4: readonly IcmpType[]; 6: readonly IcmpType[] } => {
  const v4 = protocol === 'icmp' ? types.flatMap((one) => one[4] ?? []) : [];
  const isIcmp = protocol === 'icmp' || protocol === 'ipv6-icmp';
  return { 4: v4, 6: isIcmp ? types.flatMap((one) => one[6] ?? []) : [] };
};

const placeOf = (options: Options, ends: Ends): Place => {
  const target = options.one('target', values.target);
  const device = options.plain('device', values.device);
  if (device?.name === '*') throw new SkippedSection('device must not be *');
  const on = options.one('direction', values.direction) ?? 'in';
  const onDevice = device ? deviceCondition(device.name, on) : [];
  if (target === 'mark' || target === 'dscp') return markPlace(options, ends, { target, onDevice });
  if (target === 'notrack' || target === 'helper') return rawPlace(ends, target, onDevice);
  const action = actionOf(target, ends);
  if (!action) throw new SkippedSection(`target ${target ?? ''} is none of a rule`);
  return { ...ends, chain: chainOf(ends), conditions: onDevice, action };
};

const rawPlace = (
  ends: Ends,
  target: 'notrack' | 'helper',
  conditions: readonly Condition[],
): Place => {
  const zone = zoneOf(ends.src);
  if (!zone) throw new SkippedSection(`target ${target} needs a source zone`);
  const action: Action = target === 'notrack' ? { do: 'notrack' } : { do: 'continue' };
  return { ...ends, chain: `${target}_${zone.name}`, conditions, action };
};

const deviceCondition = (name: string, on: 'in' | 'out'): Condition[] => [
  { on, names: [name], negated: false, option: 'device' },
];

const chainOf = ({ src, dest }: Ends): string => {
  if (src) {
    const hook = dest ? 'forward' : 'input';
    return src.any ? hook : `${hook}_${src.zone.name}`;
  }
  return dest?.any === false ? `output_${dest.zone.name}` : 'output';
};

const VERDICTS: ReadonlySet<string | undefined> = new Set(['accept', 'reject', 'drop']);
const isVerdict = (target: string | undefined): target is Verdict => VERDICTS.has(target);

const actionOf = (target: string | undefined, { src, dest }: Ends): Action | undefined => {
  if (target === undefined) return { do: 'continue' };
  if (!isVerdict(target)) return undefined;
  const to = zoneOf(dest);
  if (to) return { do: 'jump', chain: verdictChain(target, 'to', to.name) };
  const from = zoneOf(src);
  // firewall4 logs by the zone's own chain.
  if (from && from.log !== 0 && target !== 'accept')
    return { do: 'jump', chain: verdictChain(target, 'from', from.name) };
  return target === 'reject' ? { do: 'jump', chain: REJECT_CHAIN } : { do: target };
};

const markPlace = (
  options: Options,
  ends: Ends,
  { target, onDevice }: { target: 'mark' | 'dscp'; onDevice: readonly Condition[] },
): Place => {
  const { src, dest } = ends;
  const from = zoneOf(src)?.devices ?? [];
  const to = zoneOf(dest)?.devices ?? [];
  const own = onDevice[0]?.on;
  const conditions: Condition[] = [
    ...(from.length > 0 && own !== 'in'
      ? [{ on: 'in' as const, names: from, negated: false, option: 'src' }]
      : []),
    ...(to.length > 0 && own !== 'out'
      ? [{ on: 'out' as const, names: to, negated: false, option: 'dest' }]
      : []),
    ...onDevice,
  ];
  return { ...ends, chain: markChain(ends), conditions, action: markAction(options, target) };
};

const markChain = ({ src, dest }: Ends): string => {
  if (src && dest) {
    if (src.any === dest.any) return 'mangle_forward';
    return src.any ? 'mangle_postrouting' : 'mangle_prerouting';
  }
  return src ? 'mangle_input' : 'mangle_output';
};

const markAction = (options: Options, target: 'mark' | 'dscp'): Action => {
  if (target === 'dscp') {
    const dscp = options.plain('set_dscp', values.dscp);
    if (!dscp) throw new SkippedSection('target dscp needs set_dscp');
    return { do: 'dscp', value: dscp.value };
  }
  const set = options.plain('set_mark', values.mark);
  const xor = options.plain('set_xmark', values.mark);
  const given = set ? { value: set.value, mask: (set.value | set.mask) >>> 0 } : xor;
  if (!given) throw new SkippedSection('target mark needs set_mark or set_xmark');
  return { do: 'mark', mask: given.mask, value: given.value };
};
