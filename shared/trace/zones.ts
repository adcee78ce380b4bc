/** Sections `zone`. */
import type { UciSection } from '../uci/model.ts';
import { alternatives, byFamily, familyIn, isEmpty, type ByFamily } from './addresses.ts';
import { inferFamily, type Building, type FamilyOrBoth } from './building.ts';
import { Options, SkippedSection } from './sections.ts';
import type { ChainRule, Condition, Family, Verdict, Zone, ZoneMatch } from './types.ts';
import * as values from './values.ts';

export type Policies = { input: Verdict; output: Verdict; forward: Verdict };

export const readZone = (section: UciSection, policies: Policies, firewall: Building): void => {
  const options = new Options(section);
  const name = options.one('name', values.identifier);
  if (name === undefined) throw new SkippedSection('it has no name');
  const network = values.network(firewall.networks);
  const subnets = byFamily(options.list('subnet', network));
  const { devices, addresses } = attachedTo(options, firewall);
  const family = inferFamily(options.one('family', values.family), [
    [familyIn(subnets), 'subnets'],
  ]);
  const masq = options.one('masq', values.bool) === true;
  const masq6 = options.one('masq6', values.bool) === true;
  const zone: Zone = {
    section,
    name,
    family,
    matches:
      devices.length === 0 && isEmpty(subnets)
        ? []
        : deviceGroups(devices).flatMap((group) => matchesOf(group, subnets, family)),
    input: options.one('input', values.policy) ?? policies.input,
    output: options.one('output', values.policy) ?? policies.output,
    forward: options.one('forward', values.policy) ?? policies.forward,
    masq,
    masq6,
    masquerades: masquerades(options, { section, name, masq, masq6 }, firewall),
    masqAllowsInvalid: options.one('masq_allow_invalid', values.bool) === true,
    log: options.one('log', values.integer) ?? 0,
    devices: devices.filter(({ negated }) => !negated).map((one) => pattern(one.name)),
    related: [...addresses.map(values.ofPrefix), ...subnets[4], ...subnets[6]],
  };
  for (const option of ['mtu_fix', 'auto_helper', 'counter']) options.one(option, values.bool);
  if (options.one('enabled', values.bool) === false) throw new SkippedSection('it is disabled');
  firewall.zones.push(zone);
};

type Device = { name: string; negated: boolean };

const attachedTo = (options: Options, { networks }: Building) => {
  const attached = options.list('network', values.device).flatMap(({ name, negated }) => {
    const network = networks.get(name);
    return network ? [{ ...network, negated }] : [];
  });
  const devices: Device[] = [
    ...attached.flatMap(({ device, negated }) =>
      device === undefined ? [] : [{ name: device, negated }],
    ),
    ...options.list('device', values.device).filter(({ name }) => /^[^+*]*\+?$/.test(name)),
  ];
  return { devices, addresses: attached.flatMap((network) => network.addresses) };
};

/** firewall4's `name+` is nftables' `name*`. */
const pattern = (name: string): string => name.replace(/\+$/, '*');

type DeviceGroup = { names: readonly string[]; not: readonly string[] };

/** Each pattern is an alternative, and all other names are one; what is negated holds in each. */
const deviceGroups = (devices: readonly Device[]): readonly DeviceGroup[] => {
  const not = devices
    .filter(({ name, negated }) => negated && name !== '+')
    .map(({ name }) => pattern(name));
  // "Not any device" is a name that no device has; "any device" alone is no condition.
  const names = devices.flatMap(({ name, negated }) =>
    name === '+' ? (negated ? ['/never/'] : []) : negated ? [] : [pattern(name)],
  );
  const patterns = names.filter((name) => name.endsWith('*'));
  const plain = names.filter((name) => !name.endsWith('*'));
  const groups = patterns.map((name) => ({ names: [name], not }));
  return plain.length > 0 || groups.length === 0 ? [...groups, { names: plain, not }] : groups;
};

const matchesOf = (group: DeviceGroup, subnets: ByFamily, family: FamilyOrBoth): ZoneMatch[] => {
  if ((family === undefined || family === 0) && isEmpty(subnets))
    return [(side) => onDevices(group, side)];
  const families: readonly Family[] = family === 4 || family === 6 ? [family] : [4, 6];
  return families.flatMap((one) =>
    alternatives(subnets[one], { on: 'source', option: 'subnet', family: one }).map(
      (conditions): ZoneMatch =>
        (side) => [
          { on: 'family', is: one, option: 'family' },
          ...onDevices(group, side),
          ...conditions.map((condition) => towards(condition, side)),
        ],
    ),
  );
};

const onDevices = ({ names, not }: DeviceGroup, side: 'in' | 'out'): Condition[] => [
  ...(names.length > 0 ? [{ on: side, names, negated: false, option: 'network' }] : []),
  ...(not.length > 0 ? [{ on: side, names: not, negated: true, option: 'network' }] : []),
];

/** A zone's subnets are sources of what comes from it, and destinations of what goes to it. */
const towards = (condition: Condition, side: 'in' | 'out'): Condition =>
  condition.on === 'source' && side === 'out' ? { ...condition, on: 'destination' } : condition;

const masquerades = (
  options: Options,
  { section, name, masq, masq6 }: Pick<Zone, 'section' | 'name' | 'masq' | 'masq6'>,
  { networks }: Building,
): ChainRule[] => {
  const sources = byFamily(options.list('masq_src', values.network(networks)));
  const destinations = byFamily(options.list('masq_dest', values.network(networks)));
  const families = ([4, 6] as const).filter((family) => (family === 4 ? masq : masq6));
  return families.flatMap((family) =>
    alternatives(sources[family], { on: 'source', option: 'masq_src', family }).flatMap((from) =>
      alternatives(destinations[family], { on: 'destination', option: 'masq_dest', family }).map(
        (to): ChainRule => ({
          origin: { of: 'zone', section, zone: name, option: family === 4 ? 'masq' : 'masq6' },
          conditions: [{ on: 'family', is: family, option: 'family' }, ...from, ...to],
          action: { do: 'snat', to: undefined, ports: undefined, ofDevice: true },
        }),
      ),
    ),
  );
};
