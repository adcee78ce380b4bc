/**
 * Whether it matters which of two objects comes first: not when no packet matches both, nor when
 * both do the same to it. In doubt it does.
 */
import type { UciSection, UciValue } from '#shared/uci/model.ts';
import { collectionOf } from './collections.ts';

export const isOrderFree = (packageName: string, a: UciSection, b: UciSection): boolean =>
  collectionOf(packageName).isOrdered !== true ||
  (packageName !== 'rule/rules' && chainOf(a) !== chainOf(b)) ||
  doTheSame(a, b) ||
  areDisjoint(packageName, a, b);

/** Rules of different chains never meet. `src` and `dest` are zones or devices: the chain. */
const chainOf = ({ options: { target, src, dest } }: UciSection): string => {
  if (target === 'DNAT') return 'DNAT';
  if (target === 'SNAT' || target === 'MASQUERADE') return 'SNAT';
  if (target === 'MARK' || target === 'NOTRACK') return target;
  return `${src === undefined ? '' : 'src'}${dest === undefined ? '' : 'dest'}`;
};

const VERDICTS: ReadonlySet<UciValue> = new Set(['ACCEPT', 'REJECT', 'DROP', 'NOTRACK']);

const doTheSame = ({ options: a }: UciSection, { options: b }: UciSection): boolean =>
  (a.target !== undefined && a.target === b.target && VERDICTS.has(a.target)) ||
  (a.policy !== undefined && a.policy === b.policy) ||
  // Policy rules have a place of their own; only those of one place are in question.
  (a.prio !== undefined && a.prio !== b.prio);

const areDisjoint = (
  packageName: string,
  { options: a }: UciSection,
  { options: b }: UciSection,
): boolean => {
  const differ = (field: string, apart: (x: string, y: string) => boolean): boolean => {
    const [x, y] = [a[field], b[field]];
    return typeof x === 'string' && typeof y === 'string' && apart(x, y);
  };
  // To firewall3 a rule without a protocol is one for tcp and udp.
  const otherwise = packageName.startsWith('firewall/') ? 'tcpudp' : 'all';
  const isTranslated = (field: string): boolean =>
    (a.target === 'SNAT' && ['src_dip', 'src_dport'].includes(field)) ||
    (a.target === 'DNAT' && ['dest', 'dest_ip', 'dest_port'].includes(field));
  const matched = (fields: readonly string[]): string[] =>
    fields.filter((field) => !isTranslated(field));
  return (
    matched(['src', 'dest']).some((field) =>
      differ(field, packageName === 'rule/rules' ? areApart : (x, y) => x !== y),
    ) ||
    differ('dst', areApart) ||
    matched(['src_ip', 'dest_ip', 'src_dip']).some((field) => differ(field, areApart)) ||
    matched(['src_port', 'dest_port', 'src_dport']).some((field) =>
      differ(field, (x, y) => Number(x) !== Number(y)),
    ) ||
    haveNoneInCommon(protocolsOf(a.proto ?? otherwise), protocolsOf(b.proto ?? otherwise))
  );
};

const protocolsOf = (value: UciValue): readonly string[] | undefined => {
  if (value === 'all') return undefined;
  return value === 'tcpudp' ? ['tcp', 'udp'] : [value].flat();
};

const haveNoneInCommon = (
  a: readonly string[] | undefined,
  b: readonly string[] | undefined,
): boolean => a !== undefined && b !== undefined && !a.some((each) => b.includes(each));

/** Two IPv4 networks without a common address. */
const areApart = (a: string, b: string): boolean => {
  const [x, y] = [rangeOf(a), rangeOf(b)];
  return x !== undefined && y !== undefined && (x.last < y.first || y.last < x.first);
};

/** Undefined for what is no IPv4 network. */
export const rangeOf = (network: string): { first: number; last: number } | undefined => {
  const [address = '', bits = '32'] = network.split('/');
  const parts = address.split('.').map(Number);
  const size = 2 ** (32 - Number(bits));
  if (parts.length !== 4 || !Number.isFinite(size) || parts.some(Number.isNaN)) return undefined;
  const number = parts.reduce((sum, part) => sum * 256 + part, 0);
  const first = number - (number % size);
  return { first, last: first + size - 1 };
};
