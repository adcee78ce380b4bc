/**
 * Package mwan3 as a chain of rules, in the order in which the kernel asks them: the first that a
 * packet matches chooses its policy. Pure.
 */
import type { UciSection } from '../uci/model.ts';
import { own } from '../util/own.ts';
import { portConditions } from './matching.ts';
import { protocolNumber } from './protocols.ts';
import type { Condition, Uplinks } from './types.ts';
import * as values from './values.ts';

/** Its only chain. */
export const UPLINKS = 'mwan3';

export const uplinksOf = (sections: readonly UciSection[]): Uplinks => {
  const rules = sections.filter(({ type }) => type === 'rule');
  const networks = new Map(
    sections.map(({ name, options }) => [name, options['interface']] as const),
  );
  const members = sections.flatMap(({ type, name, options }): [string, readonly string[]][] => {
    const used = type === 'policy' ? [options['use_member'] ?? []].flat() : [];
    const known = used
      .map((member) => networks.get(member))
      .filter((one) => typeof one === 'string');
    return type === 'policy' ? [[name, known]] : [];
  });
  const chain = rules.map((section) => ({
    origin: { of: 'section', section } as const,
    conditions: conditionsOf(section),
    action: { do: 'accept' } as const,
  }));
  return { chains: new Map([[UPLINKS, chain]]), members: new Map(members) };
};

const conditionsOf = (section: UciSection): Condition[] => {
  const option = (name: string): string => {
    const value = own(section.options, name);
    return typeof value === 'string' ? value : '';
  };
  const family = option('family');
  const proto = option('proto');
  const number = protocolNumber(proto);
  const hasPorts = proto === 'tcp' || proto === 'udp';
  return [
    ...(family === 'ipv4' || family === 'ipv6'
      ? [{ on: 'family', is: family === 'ipv4' ? 4 : 6, option: 'family' } as const]
      : []),
    ...(number === undefined ? [] : [{ on: 'protocol', in: [number], option: 'proto' } as const]),
    ...addressConditions(option('src_ip'), 'source', 'src_ip'),
    ...addressConditions(option('dest_ip'), 'destination', 'dest_ip'),
    ...(hasPorts ? portsOf(option('src_port'), 'sourcePort', 'src_port') : []),
    ...(hasPorts ? portsOf(option('dest_port'), 'destinationPort', 'dest_port') : []),
    ...(option('src_iface') + option('ipset') === ''
      ? []
      : [
          { on: 'unknown', words: 'it is of the device and the set', option: 'src_iface' } as const,
        ]),
  ];
};

const NO_NETWORKS = new Map();

const addressConditions = (
  text: string,
  on: 'source' | 'destination',
  option: string,
): Condition[] => {
  if (text === '') return [];
  const [address] = values.network(NO_NETWORKS)(text)?.addresses ?? [];
  if (address === undefined) return [{ on: 'unknown', words: `its ${on} is ${text}`, option }];
  const { family, mask, range } = address;
  return mask === undefined
    ? [{ on, option, family, ranges: [range], negated: false }]
    : [{ on, option, family, mask, value: range.low, negated: false }];
};

const portsOf = (text: string, on: 'sourcePort' | 'destinationPort', option: string): Condition[] =>
  portConditions(
    text.split(',').flatMap((one) => (one === '' ? [] : (values.port(one) ?? []))),
    on,
    option,
  );
