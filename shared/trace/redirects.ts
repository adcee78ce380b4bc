/** Sections `redirect`: translations of destinations, and of sources where the target is SNAT. */
import type { UciSection } from '../uci/model.ts';
import { byFamily, familyIn, has, isEmpty, type ByFamily } from './addresses.ts';
import { inferFamily, zoneOf, type Building, type FamilyOrBoth } from './building.ts';
import {
  helperCondition,
  laterConditions,
  macConditions,
  protocolsOf,
  setCondition,
} from './matching.ts';
import { isIn } from './prefixes.ts';
import { addReflections, type Reflected } from './reflection.ts';
import { Options, SkippedSection } from './sections.ts';
import { hasPorts, hostIn, portsOf, translationRules, type Asked } from './translation.ts';
import type { Action, Condition, Family, PortRange, Zone } from './types.ts';
import * as values from './values.ts';

/** A section as it is to be written, for each of its protocols. */
type Redirect = {
  target: 'dnat' | 'snat';
  src: Zone | undefined;
  dest: Zone | undefined;
  asked: Asked;
  to: ByFamily;
  toPorts: PortRange | undefined;
  /** Undefined: it reflects nothing. */
  reflected: Pick<Reflected, 'inner' | 'source'> | undefined;
};

export const readRedirect = (section: UciSection, firewall: Building): void => {
  const options = new Options(section);
  const set = setCondition(options, firewall);
  const family = options.one('family', values.family);
  const read = options.one('target', values.target) === 'snat' ? readSnat : readDnat;
  const redirect = read(section, options, { firewall, set: set.conditions });
  if (options.one('enabled', values.bool) === false) throw new SkippedSection('it is disabled');
  for (const { name } of protocolsOf(options))
    firewall.attempt(section, () => {
      const { asked, src, dest, to } = redirect;
      const own = inferFamily(name === 'ipv6-icmp' ? 6 : family, [
        [set.family, 'set is'],
        [familyIn(asked.sources), 'source addresses are'],
        [familyIn(asked.destinations), 'destination addresses are'],
        [familyIn(to), 'new address is'],
        [src?.family, 'source zone is'],
        [dest?.family, 'destination zone is'],
      ]);
      addRules(redirect, { family: own, protocol: name, firewall });
    });
};

type Context = { firewall: Building; set: readonly Condition[] };

const readDnat = (section: UciSection, options: Options, { firewall, set }: Context): Redirect => {
  const { group, ports, src, dest } = readersOf(options, firewall);
  const from = zoneOf(src);
  if (!from) throw new SkippedSection('DNAT needs a zone in src');
  const to = group('dest_ip');
  const inTo = [...to[4], ...to[6]];
  if (inTo.some(({ negated, mask }) => negated || mask !== undefined))
    throw new SkippedSection('dest_ip must be an address');
  const into = dest === undefined ? zoneAround(inTo[0]?.range.low, to, firewall) : zoneOf(dest);
  const reflected = into && reflectedOf(options, into, firewall);
  const before = ports('src_dport');
  firewall.translated.add(from.name);
  if (reflected && into && from.masq) {
    firewall.translated.add(into.name);
    firewall.reflecting.add(into.name);
  }
  return {
    target: 'dnat',
    src: from,
    dest: into,
    to,
    toPorts: portsOf(ports('dest_port')) ?? portsOf(before),
    reflected,
    asked: {
      section,
      sources: group('src_ip'),
      destinations: group('src_dip'),
      sourcePorts: ports('src_port'),
      destinationPorts: before,
      last: lastOf(options, set),
      names: { destination: 'src_dip', destinationPort: 'src_dport' },
    },
  };
};

/** Undefined: it is not to be reflected. */
const reflectedOf = (options: Options, into: Zone, firewall: Building): Redirect['reflected'] => {
  const source = options.one('reflection_src', values.reflectionSource) ?? 'internal';
  const zones = options
    .list('reflection_zone', firewall.zoneReference)
    .flatMap((one) => zoneOf(one) ?? []);
  if (options.one('reflection', values.bool) === false) return undefined;
  return { inner: zones.length > 0 ? zones : [into], source };
};

const readSnat = (section: UciSection, options: Options, { firewall, set }: Context): Redirect => {
  const { group, ports, src, dest } = readersOf(options, firewall);
  const into = zoneOf(dest);
  if (!into) throw new SkippedSection('SNAT needs a zone in dest');
  const to = group('src_dip');
  const inTo = [...to[4], ...to[6]];
  if (isEmpty(to)) throw new SkippedSection('SNAT needs src_dip');
  if (inTo.some(({ negated, mask }) => negated || mask !== undefined))
    throw new SkippedSection('src_dip must be an address');
  for (const option of ['src_mac', 'helper'])
    if (options.has(option)) throw new SkippedSection(`SNAT must not have ${option}`);
  return {
    target: 'snat',
    src: zoneOf(src),
    dest: into,
    to,
    toPorts: portsOf(ports('src_dport')),
    reflected: undefined,
    asked: {
      section,
      sources: group('src_ip'),
      destinations: group('dest_ip'),
      sourcePorts: ports('src_port'),
      destinationPorts: ports('dest_port'),
      last: lastOf(options, set),
      names: { destination: 'dest_ip', destinationPort: 'dest_port' },
    },
  };
};

const readersOf = (options: Options, firewall: Building) => {
  const network = values.network(firewall.networks);
  return {
    group: (option: string) => byFamily([options.one(option, network) ?? []].flat()),
    ports: (option: string) => [options.one(option, values.port) ?? []].flat(),
    src: options.one('src', firewall.zoneReference),
    dest: options.one('dest', firewall.zoneReference),
  };
};

const lastOf = (options: Options, set: readonly Condition[]): readonly Condition[] => [
  ...macConditions(options.list('src_mac', values.mac)),
  ...helperCondition(options),
  ...laterConditions(options),
  ...set,
];

/** The first zone with a network around an address, firewall4's guess where none is given. */
const zoneAround = (
  any: bigint | undefined,
  addresses: ByFamily,
  { zones }: Building,
): Zone | undefined =>
  any === undefined
    ? undefined
    : zones.find(({ related }) =>
        related.some((one) =>
          addresses[one.family].some(({ range }) =>
            one.mask === undefined
              ? isIn(range.low, one.range) || one.prefix === undefined
              : (range.low & one.mask) === (one.range.low & one.mask),
          ),
        ),
      );

type One = { family: FamilyOrBoth; protocol: string | undefined; firewall: Building };

const addRules = (redirect: Redirect, { family, protocol, firewall }: One): void => {
  const { target, src, dest, asked, to, toPorts, reflected } = redirect;
  if (reflected && src && !isEmpty(to))
    addReflections(
      {
        ...reflected,
        asked: { ...asked, last: asked.last.filter(isReflected) },
        to,
        toPorts,
        protocol,
        outer: src,
      },
      firewall,
    );
  const ports = hasPorts(protocol) ? toPorts : undefined;
  refuseBarePorts(redirect, protocol, firewall);
  const chain = target === 'dnat' ? `dstnat_${src?.name}` : `srcnat_${dest?.name}`;
  for (const one of familiesOf(redirect, family)) {
    const address = one === 0 ? undefined : hostIn(to[one]);
    const action: Action = {
      do: target,
      to: address,
      ports,
      ofDevice: target === 'dnat' && !address,
    };
    firewall.add(chain, ...translationRules(asked, { family: one, protocol, action }));
  }
};

/** firewall4 leaves the source's hardware address and sets out of it. */
const isReflected = ({ option }: Condition): boolean => option !== 'src_mac' && option !== 'ipset';

/**
 * nft takes a new port only behind a condition on the protocol, which firewall4 leaves out where
 * only the new port is given.
 */
const refuseBarePorts = (
  { asked, toPorts }: Redirect,
  protocol: string | undefined,
  firewall: Building,
): void => {
  if (!toPorts || !hasPorts(protocol)) return;
  if (asked.sourcePorts.length > 0 || asked.destinationPorts.length > 0) return;
  firewall.refused.push({
    section: asked.section,
    why: 'it has a new port and no port that packets must have',
  });
};

/** Without addresses and family it is of IPv4. */
const familiesOf = ({ asked, to }: Redirect, family: FamilyOrBoth): readonly (Family | 0)[] => {
  const has4 = [asked.sources, asked.destinations, to].some((one) => has(one, 4));
  const has6 = [asked.sources, asked.destinations, to].some((one) => has(one, 6));
  if (!has4 && !has6) return [family ?? 4];
  return ([4, 6] as const).filter(
    (one) => (family === undefined || family === 0 || family === one) && (one === 4 ? has4 : has6),
  );
};
