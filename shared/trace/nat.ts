/** Sections `nat`: what becomes of the source of packets that leave. */
import type { UciSection } from '../uci/model.ts';
import { byFamily, familyIn, has, type ByFamily } from './addresses.ts';
import { inferFamily, zoneOf, type Building, type FamilyOrBoth } from './building.ts';
import { laterConditions } from './matching.ts';
import { Options, SkippedSection } from './sections.ts';
import { hasPorts, hostIn, portsOf, translationRules, type Asked } from './translation.ts';
import type { Action, Condition, Family, PortRange } from './types.ts';
import * as values from './values.ts';

type Nat = {
  asked: Asked;
  chain: string;
  target: 'accept' | 'snat' | 'masquerade';
  to: ByFamily;
  toPorts: PortRange | undefined;
};

export const readNat = (section: UciSection, firewall: Building): void => {
  const options = new Options(section);
  const network = values.network(firewall.networks);
  const group = (option: string): ByFamily => byFamily([options.one(option, network) ?? []].flat());
  const ports = (option: string) => [options.one(option, values.port) ?? []].flat();
  const zone = zoneOf(options.one('src', firewall.zoneReference));
  const device = options.one('device', values.text);
  const last: readonly Condition[] = [
    ...(device === undefined
      ? []
      : [{ on: 'out' as const, names: [device], negated: false, option: 'device' }]),
    ...laterConditions(options),
  ];
  const nat: Nat = {
    asked: {
      section,
      sources: group('src_ip'),
      destinations: group('dest_ip'),
      sourcePorts: ports('src_port'),
      destinationPorts: ports('dest_port'),
      last,
      names: { destination: 'dest_ip', destinationPort: 'dest_port' },
    },
    chain: zone ? `srcnat_${zone.name}` : 'srcnat',
    target: targetOf(options),
    to: group('snat_ip'),
    toPorts: portsOf(ports('snat_port')),
  };
  check(nat, options);
  const family = options.one('family', values.family);
  for (const protocol of protocolsOf(nat, options))
    firewall.attempt(section, () => {
      const own = inferFamily(family, [
        [familyIn(nat.asked.sources), 'source addresses are'],
        [familyIn(nat.asked.destinations), 'destination addresses are'],
        [familyIn(nat.to), 'new address is'],
        [zone?.family, 'zone is'],
      ]);
      addRules(nat, { family: own, protocol, firewall });
    });
};

const targetOf = (options: Options): Nat['target'] => {
  const target = options.one('target', values.target);
  return target === 'accept' || target === 'snat' ? target : 'masquerade';
};

const check = ({ target, to, toPorts }: Nat, options: Options): void => {
  if (options.one('enabled', values.bool) === false) throw new SkippedSection('it is disabled');
  const hasTo = options.has('snat_ip');
  if (target === 'snat' ? !hasTo && !toPorts : hasTo || toPorts)
    throw new SkippedSection(
      target === 'snat'
        ? 'target SNAT needs snat_ip or snat_port'
        : 'only target SNAT takes snat_ip and snat_port',
    );
  if ([...to[4], ...to[6]].some(({ negated, mask }) => negated || mask !== undefined))
    throw new SkippedSection('snat_ip must be an address');
};

/** Ports stand for TCP and UDP where any protocol is meant. */
const protocolsOf = (
  { asked, toPorts }: Nat,
  options: Options,
): readonly (string | undefined)[] => {
  const names = options
    .list('proto', values.protocol)
    .flatMap((one) => one.map(({ name }) => name));
  const given = names.length > 0 ? names : [undefined];
  const usesPorts =
    toPorts !== undefined || asked.sourcePorts.length > 0 || asked.destinationPorts.length > 0;
  if (!usesPorts || given.some(hasPorts)) return given;
  if (given.some((name) => name !== undefined))
    throw new SkippedSection('it has ports and neither tcp nor udp');
  return ['tcp', 'udp'];
};

type One = { family: FamilyOrBoth; protocol: string | undefined; firewall: Building };

const addRules = (nat: Nat, { family, protocol, firewall }: One): void => {
  const { asked, chain, to } = nat;
  const ports = hasPorts(protocol) ? nat.toPorts : undefined;
  for (const one of familiesOf(nat, family)) {
    const action = actionOf(nat.target, one === 0 ? undefined : hostIn(to[one]), ports);
    firewall.add(chain, ...translationRules(asked, { family: one, protocol, action }));
  }
};

const actionOf = (
  target: Nat['target'],
  to: ReturnType<typeof hostIn>,
  ports: PortRange | undefined,
): Action =>
  target === 'accept'
    ? { do: 'leave' }
    : { do: 'snat', to, ports, ofDevice: target === 'masquerade' };

/** Without addresses and family it is of IPv4. */
const familiesOf = ({ asked, to }: Nat, family: FamilyOrBoth): readonly (Family | 0)[] => {
  const all = [asked.sources, asked.destinations, to];
  const has4 = all.some((one) => has(one, 4));
  const has6 = all.some((one) => has(one, 6));
  const own = family ?? (has6 && !has4 ? 6 : 4);
  if (own !== 0) return [own];
  return has4 || has6 ? [4, 6] : [0];
};
