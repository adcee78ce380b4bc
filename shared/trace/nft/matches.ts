/**
 * What a rule of the kernel asks of a packet, as firewall4 writes it. `option`: what the
 * configuration would call it. Pure.
 */
import { familyOf, numberOf } from '../../util/addresses.ts';
import { prefixRange, sizeOf } from '../prefixes.ts';
import type { Condition, Family, PortRange, Range } from '../types.ts';
import * as names from './names.ts';
import { NotUnderstood, understood, type Reader } from './reader.ts';
import type { Item } from './words.ts';

const ALL_BITS = 0xffff_ffff;
const MAX_PORT = 65_535;
const TCP = 6;
const PORTED = ['tcp', 'udp', 'udplite', 'sctp', 'dccp'] as const;

/** Undefined: something else comes next. @throws NotUnderstood */
export const matchIn = (words: Reader): readonly Condition[] | undefined => {
  const device = words.takesOneOf('iifname', 'oifname', 'iif', 'oif');
  if (device) return [deviceMatch(words, device.startsWith('i') ? 'in' : 'out')];
  if (words.takes('tcp', 'flags')) return synMatch(words);
  const ported = words.takesOneOf(...PORTED);
  if (ported) return portMatch(words, ported);
  if (words.takes('ether', 'saddr')) return [macMatch(words)];
  const ip = words.takesOneOf('ip', 'ip6');
  if (ip) return ipMatch(words, ip === 'ip' ? 4 : 6);
  const icmp = words.takesOneOf('icmp', 'icmpv6');
  if (icmp) return icmpMatch(words, icmp === 'icmp' ? 4 : 6);
  if (words.takes('ct')) return connectionMatch(words);
  if (words.takes('limit')) return limitMatch(words);
  return undefined;
};

/** Behind `meta`. Undefined: it sets something. @throws NotUnderstood */
export const metaMatchIn = (words: Reader): readonly Condition[] => {
  if (words.takes('nfproto')) {
    const { items, negated } = words.operand();
    const is = textOf(items) === 'ipv4' ? 4 : textOf(items) === 'ipv6' ? 6 : undefined;
    if (negated || is === undefined) throw new NotUnderstood('meta nfproto');
    return [{ on: 'family', is, option: 'family' }];
  }
  if (words.takes('l4proto')) {
    const { items, negated } = words.operand();
    if (negated) throw new NotUnderstood('meta l4proto !=');
    const all = items.map((item) => understood(names.protocol(single(item)), `protocol`));
    return [{ on: 'protocol', in: all, option: 'proto' }];
  }
  if (words.takes('mark')) return [markMatch(words)];
  const time = words.takesOneOf('time', 'hour', 'day');
  if (time) return [timeMatch(words, time)];
  throw new NotUnderstood('meta');
};

const single = (item: Item): string =>
  item.length === 1 ? (item[0]?.text ?? '') : item.map(({ text }) => text).join(' ');
const textOf = (items: readonly Item[]): string => items.map(single).join(', ');

const deviceMatch = (words: Reader, on: 'in' | 'out'): Condition => {
  const { items, negated } = words.operand();
  return { on, names: items.map(single), negated, option: 'network' };
};

/** The first packet of a connection of TCP has this flag alone, as firewall4 asks for it. */
const synMatch = (words: Reader): Condition[] => {
  const isSyn =
    words.takes('syn', '/', 'fin,syn,rst,ack') ||
    words.takes('&', '(fin', '|', 'syn', '|', 'rst', '|', 'ack)', '==', 'syn');
  if (!isSyn) throw new NotUnderstood('tcp flags');
  return [{ on: 'protocol', in: [TCP], option: 'proto' }];
};

const portMatch = (words: Reader, protocol: string): Condition[] => {
  const side = words.takesOneOf('sport', 'dport');
  if (!side) throw new NotUnderstood(protocol);
  const { items, negated } = words.operand();
  const on = side === 'sport' ? 'sourcePort' : 'destinationPort';
  const option = side === 'sport' ? 'src_port' : 'dest_port';
  return [
    { on: 'protocol', in: [understood(names.protocol(protocol), protocol)], option: 'proto' },
    { on, ranges: items.map((item) => portsIn(single(item))), negated, option },
  ];
};

/** @throws NotUnderstood */
export const portsIn = (text: string): PortRange => {
  const [low = '', high = low] = text.split('-');
  const ends = [names.number(low, MAX_PORT), names.number(high, MAX_PORT)] as const;
  return { low: understood(ends[0], `port ${text}`), high: understood(ends[1], `port ${text}`) };
};

const macMatch = (words: Reader): Condition => {
  const { items, negated } = words.operand();
  return { on: 'mac', macs: items.map(single), negated, option: 'src_mac' };
};

const ipMatch = (words: Reader, family: Family): Condition[] => {
  if (words.takes('dscp')) {
    const { items, negated } = words.operand();
    const value = understood(names.dscp(textOf(items)), 'dscp');
    return [
      { on: 'family', is: family, option: 'family' },
      { on: 'dscp', value, negated, option: 'dscp' },
    ];
  }
  const side = words.takesOneOf('saddr', 'daddr');
  if (!side) throw new NotUnderstood('ip');
  const on = side === 'saddr' ? ('source' as const) : ('destination' as const);
  const option = side === 'saddr' ? 'src_ip' : 'dest_ip';
  if (words.takes('&')) {
    const mask = addressIn(words.next().text, family);
    const { items, negated } = words.operand();
    const value = addressIn(textOf(items), family);
    return [{ on, family, mask, value, negated, option }];
  }
  const { items, negated } = words.operand();
  return [
    { on, family, ranges: items.map((item) => rangeIn(single(item), family)), negated, option },
  ];
};

const addressIn = (text: string, family: Family): bigint => {
  if (familyOf(text) !== family) throw new NotUnderstood(`address ${text}`);
  return numberOf(text);
};

/** @throws NotUnderstood */
export const rangeIn = (text: string, family: Family): Range => {
  const [first = '', last] = text.split('-');
  if (last !== undefined) return { low: addressIn(first, family), high: addressIn(last, family) };
  const [address = '', bits] = text.split('/');
  const length = bits === undefined ? sizeOf(family) : names.number(bits, sizeOf(family));
  return prefixRange({
    family,
    address: addressIn(address, family),
    bits: understood(length, `network ${text}`),
  });
};

const icmpMatch = (words: Reader, family: Family): Condition[] => {
  const named = family === 4 ? 'icmp' : 'icmpv6';
  if (!words.takes('type')) throw new NotUnderstood(named);
  const hasCodes = words.takes('.', named, 'code');
  const { items, negated } = words.operand();
  if (negated) throw new NotUnderstood(`${named} type !=`);
  const types = items.map((item) => {
    const [type = '', dot, code = ''] = item.map(({ text }) => text);
    if (hasCodes !== (dot === '.')) throw new NotUnderstood(`${named} type`);
    return {
      type: understood(names.icmpType(type, family), `${named} type ${type}`),
      code: hasCodes
        ? understood(names.icmpCode(code, family), `${named} code ${code}`)
        : undefined,
    };
  });
  return [
    {
      on: 'protocol',
      in: [understood(names.protocol(family === 4 ? 'icmp' : 'ipv6-icmp'), named)],
      option: 'proto',
    },
    { on: 'icmp', types, option: 'icmp_type' },
  ];
};

const connectionMatch = (words: Reader): Condition[] => {
  if (words.takes('status', 'dnat')) return [{ on: 'dnat', option: 'target' }];
  if (words.takes('state', 'invalid')) return [{ on: 'invalid', option: 'drop_invalid' }];
  if (words.takes('helper')) {
    const { items, negated } = words.operand();
    const what = `the connection ${negated ? 'has not' : 'has'} the helper ${textOf(items)}`;
    return [{ on: 'unknown', words: what, option: 'helper' }];
  }
  throw new NotUnderstood('ct');
};

const limitMatch = (words: Reader): Condition[] => {
  const isNamed = words.takes('name');
  if (!isNamed && !words.takes('rate')) throw new NotUnderstood('limit');
  const isOver = words.takes('over');
  const rate = words.next().text;
  const burst = words.takes('burst') ? ` and ${words.next().text} at once` : '';
  words.takes('packets');
  const what = `there have been ${isOver ? '' : 'no '}more than ${rate}${burst} before it`;
  return [{ on: 'unknown', words: what, option: 'limit' }];
};

const timeMatch = (words: Reader, of: string): Condition => {
  const sign = words.takesOneOf('>=', '<=', '<', '>') ?? '';
  const { items, negated } = words.operand();
  const what = `the clock has ${of} ${negated ? 'not ' : ''}${sign === '' ? '' : `${sign} `}${textOf(items)}`;
  return { on: 'unknown', words: what, option: of === 'day' ? 'weekdays' : 'start_time' };
};

const markMatch = (words: Reader): Condition => {
  const mask = words.takes('&') || words.takes('and') ? markIn(words.next().text) : ALL_BITS;
  const { items, negated } = words.operand();
  return { on: 'mark', mask, value: markIn(textOf(items)), negated, option: 'mark' };
};

/** @throws NotUnderstood */
export const markIn = (text: string): number =>
  understood(names.number(text, ALL_BITS), `mark ${text}`);
