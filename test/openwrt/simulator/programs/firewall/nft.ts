/**
 * What nft refuses in the ruleset that fw4 renders. One such line and the whole set is refused: the
 * old rules stay, and `fw4 reload` answers 0 all the same. Only the lines that can be refused are
 * rendered; their numbers are made up.
 */
import type { UciSection } from '../../uci/package.ts';
import type { Judgement, TakenSection } from './taken-sections.ts';
import { firstOf, protocolsOf, type Values } from './values.ts';

/** Longest comment that nft takes; fw4 puts `!fw4: ` before the name. */
const MAX_COMMENT = 128;
/** Longest device name, plus the NUL that nft counts. */
const MAX_DEVICE = 16;

/** Protocols that nft finds by name here; a number is always good. */
const PROTOCOLS = new Set(
  'tcp udp udplite icmp ipv6-icmp esp ah sctp igmp gre all dccp ipip ospf pim vrrp l2tp ipcomp ipv6 ipencap egp igp'.split(
    ' ',
  ),
);

/** nft's complaints, '' when it takes the set. */
export const refusals = ({ taken }: Judgement): string => {
  const complaints = [
    ...duplicateZones(taken),
    ...taken.filter(({ section }) => section.type === 'zone').flatMap(zoneComplaints),
    ...taken.filter(({ section }) => section.type === 'rule').flatMap(ruleComplaints),
    ...taken.filter(({ section }) => section.type === 'redirect').flatMap(redirectComplaints),
  ];
  return complaints.map((complaint, index) => format(complaint, FIRST_LINE + index * 4)).join('');
};

const FIRST_LINE = 84;

type Complaint = {
  line: string;
  /** Where in the line, counted from 0. */
  from: number;
  length: number;
  message: string;
};

const format = ({ line, from, length, message }: Complaint, lineNumber: number): string => {
  const indent = /^\t*/.exec(line)?.[0] ?? '';
  const marks = `${indent}${' '.repeat(from - indent.length)}${'^'.repeat(length)}`;
  return `/dev/stdin:${lineNumber}:${from + 1}-${from + length}: Error: ${message}\n${line}\n${marks}\n`;
};

const complaintAt = (line: string, part: string, message: string): Complaint => ({
  line,
  from: line.indexOf(part),
  length: part.length,
  message,
});

/** fw4 defines two symbols per zone, and nft refuses the second definition. */
const duplicateZones = (taken: readonly TakenSection[]): Complaint[] => {
  const names = taken
    .filter(({ section }) => section.type === 'zone')
    .map(({ values }) => firstOf(values, 'name') ?? '');
  return names
    .filter((name, index) => names.indexOf(name) < index)
    .flatMap((name) =>
      [`${name}_devices`, `${name}_subnets`].map((symbol) =>
        complaintAt(`\tdefine ${symbol} = {  }`, symbol, `redefinition of symbol '${symbol}'`),
      ),
    );
};

/**
 * fw4 takes zone names of any length (firewall3 has none over 11), until the comments that it makes
 * of them are too long for nft.
 */
const zoneComplaints = ({ values }: TakenSection): Complaint[] => {
  const lines = zoneLines(values, setOf((values.get('device') ?? []).map(({ value }) => value)));
  const tooLongComments = lines.flatMap((line) => tooLongComment(line, commentOf(line)));
  return [...tooLongComments, ...tooLongDevices(values)];
};

const commentOf = (line: string): string => /"!fw4: [^"]*"$/.exec(line)?.[0] ?? '';

const tooLongDevices = (values: Values): Complaint[] => {
  const devices = (values.get('device') ?? []).filter(({ inverted }) => !inverted);
  const tooLong = devices.find(({ value }) => value.length >= MAX_DEVICE);
  if (!tooLong) return [];
  return zoneLines(values, setOf(devices.map(({ value }) => value))).map((line) =>
    complaintAt(line, `"${tooLong.value}"`, `String exceeds maximum length of ${MAX_DEVICE}`),
  );
};

/** The lines that match a zone's devices, in the order of the ruleset. */
const zoneLines = (values: Values, devices: string): string[] => {
  const name = firstOf(values, 'name') ?? '';
  const policy = (option: string): string => firstOf(values, option) ?? 'drop';
  const masquerades = ['masq', 'masq6'].some((option) => firstOf(values, option) === '1');
  const jump = (direction: string, device: string, what = 'traffic'): string =>
    `\t\t${device} ${devices} jump ${direction}_${name} comment "!fw4: Handle ${name} IPv4/IPv6 ${direction} ${what}"`;
  const verdict = (device: string, action: string): string =>
    `\t\t${device} ${devices} counter ${action === 'reject' ? 'jump handle_reject' : action} comment "!fw4: ${action} ${name} IPv4/IPv6 traffic"`;
  return [
    jump('input', 'iifname'),
    jump('forward', 'iifname'),
    jump('output', 'oifname'),
    ...(masquerades ? [] : [jump('helper', 'iifname', 'assignment')]),
    ...['accept', 'reject', 'drop'].flatMap((action) => [
      ...(policy('input') === action ? [verdict('iifname', action)] : []),
      ...(policy('output') === action || policy('forward') === action
        ? [verdict('oifname', action)]
        : []),
    ]),
  ];
};

const ruleComplaints = (taken: TakenSection): Complaint[] => {
  const comment = `"!fw4: ${nameOf(taken.section)}"`;
  return protocolsOf(taken.values).flatMap((protocol) => {
    const line = `\t\t${ruleMatches(taken.values, protocol)}counter ${verdictOf(taken.values)}comment ${comment}`;
    return [
      ...(isKnown(protocol)
        ? []
        : [complaintAt(line, protocol, 'Could not resolve protocol name')]),
      ...tooLongComment(line, comment),
    ];
  });
};

const redirectComplaints = ({ section, values }: TakenSection): Complaint[] => {
  const comment = `"!fw4: ${nameOf(section)}"`;
  return protocolsOf(values).flatMap((protocol) => {
    const line = `\t\t${ruleMatches(values, protocol)}counter ${firstOf(values, 'target') ?? 'dnat'} comment ${comment}`;
    return [
      ...(isKnown(protocol)
        ? []
        : [complaintAt(line, protocol, 'Could not resolve protocol name')]),
      ...tooLongComment(line, comment),
    ];
  });
};

const tooLongComment = (line: string, comment: string): Complaint[] =>
  comment.length - 2 > MAX_COMMENT
    ? [complaintAt(line, comment, `comment too long, ${MAX_COMMENT} characters maximum allowed`)]
    : [];

/** fw4 puts `'` for `"`, and without a name the section's. */
const nameOf = (section: UciSection): string => {
  const name = section.options.get('name');
  return (typeof name === 'string' ? name : section.name).replaceAll('"', "'");
};

const isKnown = (protocol: string): boolean => PROTOCOLS.has(protocol) || /^\d+$/.test(protocol);

const ruleMatches = (values: Values, protocol: string): string => {
  const set = (option: string): string[] => (values.get(option) ?? []).map(({ value }) => value);
  const match = (words: string, items: string[]): string =>
    items.length === 0 ? '' : `${words} ${setOf(items)} `;
  const hasPorts = protocol === 'tcp' || protocol === 'udp';
  const [from, to] = hasPorts ? [set('src_port'), set('dest_port')] : [[], []];
  const protocolMatch =
    protocol === 'all' || from.length + to.length > 0 ? '' : `meta l4proto ${protocol} `;
  return [
    protocolMatch,
    match('ip saddr', set('src_ip')),
    match('ip daddr', set('dest_ip')),
    match(`${protocol} sport`, from),
    match(`${protocol} dport`, to),
  ].join('');
};

const verdictOf = (values: Values): string => {
  const target = firstOf(values, 'target');
  const destination = firstOf(values, 'dest');
  if (target === undefined) return '';
  if (destination !== undefined && destination !== '*') return `jump ${target}_to_${destination} `;
  return target === 'reject' ? 'jump handle_reject ' : `${target} `;
};

const setOf = (items: readonly string[]): string => {
  const quoted = items.map((item) => (/^[0-9A-Fa-f:./-]+$/.test(item) ? item : `"${item}"`));
  return quoted.length === 1 ? (quoted[0] ?? '') : `{ ${quoted.join(', ')} }`;
};
