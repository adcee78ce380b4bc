/**
 * What the kinds have in common on ICN's REST API: what its fields can hold, and how an object is
 * written as a section. Each of its collections is a package here; a list of objects is a list of
 * their JSON texts.
 */
import type { UciSection, UciValue } from '../uci/model.ts';
import type { Lack, RenderContext, UciRendering } from './kind.ts';
import { section } from './render.ts';
import { own } from '../util/own.ts';

/** Why the API cannot hold the value, as the end of "ICN's REST API …"; undefined when it can. */
export type Limit = (value: string) => string | undefined;

type IcnRendering<Spec> = {
  /** Path of the collection without the version, e.g. `firewall/rules`. */
  collection: string;
  /** By field of the spec; for a list each item is asked. */
  limits: { readonly [field in keyof NoInfer<Spec>]?: Limit };
  lacks?: (spec: Spec, context: RenderContext) => readonly Lack[];
  /** The object without its name. Blank fields are left out. */
  object: (spec: Spec, context: RenderContext) => Readonly<Record<string, UciValue | undefined>>;
  nameOf?: UciRendering<Spec>['nameOf'];
  identities?: UciRendering<Spec>['identities'];
  /** Whether an object of the collection is of this kind; default: all are. */
  isKind?: (object: UciSection) => boolean;
  isOnlyIcns?: NonNullable<UciRendering<Spec>['icn']>['isOnlyIcns'];
};

export const icnResource = <Spec extends object>(
  resource: IcnRendering<Spec>,
): UciRendering<Spec> => ({
  package: resource.collection,
  ownership: 'ledger',
  sectionPrefix: '',
  nameOf: resource.nameOf,
  identities: resource.identities,
  icn: {
    nameOf: (object) => (resource.isKind?.(object) === false ? undefined : object.name),
    ...(resource.isOnlyIcns && { isOnlyIcns: resource.isOnlyIcns }),
  },
  lacks: (spec, context) => [
    ...nameLacks(context),
    ...limitLacks(spec, resource.limits),
    ...(resource.lacks?.(spec, context) ?? []),
  ],
  render: (spec, context) => [
    section(
      resource.collection.split('/')[1] ?? '',
      context.sectionName,
      resource.object(spec, context),
    ),
  ],
});

export const unsupported = (path: string, why: string): Lack => ({
  path,
  reason: 'UnsupportedByDriver',
  message: `ICN's REST API ${why}`,
});

/** Whether it is how UCI calls a section that has no name. */
export const isSectionId = (name: string): boolean => /^cfg[0-9a-f]{6}$/.test(name);

/** Collections whose UCI package no program but the API reads or writes. */
export const inOwnPackage = { isOnlyIcns: () => true } as const;

/**
 * REST looks for an id first: by such a name it would find, and remove, an anonymous section that
 * is not ours.
 */
const nameLacks = ({ name }: RenderContext): Lack[] =>
  isSectionId(name)
    ? [unsupported('metadata.name', 'takes such a name for the id of a section')]
    : [];

const limitLacks = (
  spec: object,
  limits: { readonly [field: string]: Limit | undefined },
): Lack[] =>
  Object.entries(spec).flatMap(([field, given]: [string, unknown]) => {
    const values = Array.isArray(given) ? given : [given];
    const why = values
      .filter((value) => typeof value === 'string')
      .map((value) => own(limits, field)?.(value))
      .find((words) => words !== undefined);
    return why === undefined ? [] : [unsupported(`spec.${field}`, why)];
  });

const holding =
  (holds: (value: string) => boolean, what: string): Limit =>
  (value) =>
    holds(value) ? undefined : `takes ${what} here`;

const NETWORK = /^\d+\.\d+\.\d+\.\d+(\/\d{1,2})?$/;

export const oneNetwork = holding((value) => NETWORK.test(value), 'one IPv4 address or network');
export const negatableNetworkItem = holding(
  (value) => NETWORK.test(value.replace(/^!/, '')),
  'IPv4 addresses and networks',
);
export const oneAddress = holding(
  (value) => NETWORK.test(value) && !value.includes('/'),
  'one IPv4 address',
);
export const onePort = holding((value) => /^\d+$/.test(value), 'one port');
export const oneMac = holding(
  (value) => /^([0-9a-f]{2}:){5}[0-9a-f]{2}$/i.test(value),
  'one MAC address such as 00:11:22:aa:bb:cc',
);
export const oneZone = holding((value) => value !== '*', 'one zone');
export const plainMark = holding((value) => !value.startsWith('!'), 'no negated mark');
export const ipv4Only = holding((value) => value !== 'ipv6', 'IPv4 only');
export const nothing =
  (why: string): Limit =>
  () =>
    why;

const PROTOCOLS = ['tcp', 'udp', 'tcpudp', 'udplite', 'icmp', 'esp', 'ah', 'sctp', 'all'];
export const oneProtocol = holding(
  (value) => PROTOCOLS.includes(protocolOf(value) ?? ''),
  `one protocol of ${PROTOCOLS.join(', ')}`,
);

/** As the API has it, where it has the same by another name. */
export const protocolOf = (value: string | undefined): string | undefined => {
  if (value === undefined) return undefined;
  const names = [...new Set(value.split(/[ ,]+/))].sort();
  if (names.join(' ') === 'tcp udp') return 'tcpudp';
  return value === 'any' ? 'all' : value;
};

const ICMP_TYPES = new Set(
  `any ping pong redirect address-mask-reply communication-prohibited fragmentation-needed
  ip-header-bad parameter-problem precedence-cutoff required-option-missing time-exceeded
  destination-unreachable port-unreachable protocol-unreachable echo-reply echo-request
  host-precedence-violation host-prohibited host-redirect host-unknown host-unreachable
  network-prohibited network-redirect network-unknown network-unreachable router-advertisement
  router-solicitation source-quench source-route-failed timestamp-reply timestamp-request
  TOS-host-redirect TOS-host-unreachable TOS-network-redirect TOS-network-unreachable ttl-exceeded
  ttl-zero-during-reassembly ttl-zero-during-transit`.split(/\s+/),
);
export const icmpType = holding(
  (value) => ICMP_TYPES.has(value),
  'the names of IPv4 ICMP types as iptables has them',
);

/** A nested object as its text: the same object always has the same one. */
export const objectText = (fields: Readonly<Record<string, UciValue | undefined>>): string =>
  JSON.stringify(
    Object.fromEntries(
      Object.entries(fields)
        .filter(([, value]) => value !== undefined && value.length > 0)
        .sort(([a], [b]) => (a < b ? -1 : 1)),
    ),
  );

/** Keys of a name space that several collections share. */
export const inNameSpace = (space: string, names: readonly string[]): string[] =>
  names.map((name) => `${space}:${name}`);

export const textsIn = (value: UciValue = []): readonly string[] =>
  typeof value === 'string' ? [value] : value;

/** `ip` refuses such a network, and the API does not tell. */
export const hostBitsOf: Limit = (value) => {
  const [address = '', bits = '32'] = value.split('/');
  const number = address.split('.').reduce((sum, part) => sum * 256 + Number(part), 0);
  return number % 2 ** (32 - Number(bits)) === 0
    ? undefined
    : 'takes a network only if no bits are set behind its mask';
};
