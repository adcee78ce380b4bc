/** Numbers of protocols and ICMP types by the names that firewall4 takes. */
import { own } from '../util/own.ts';

export const PROTOCOLS: Readonly<Record<string, number>> = {
  icmp: 1,
  igmp: 2,
  tcp: 6,
  udp: 17,
  dccp: 33,
  gre: 47,
  esp: 50,
  ah: 51,
  'ipv6-icmp': 58,
  sctp: 132,
  udplite: 136,
};

/** Undefined for a name that is in no table of ours. */
export const protocolNumber = (name: string): number | undefined =>
  /^\d+$/.test(name) ? Number(name) : own(PROTOCOLS, name);

export const protocolName = (number: number): string =>
  Object.keys(PROTOCOLS).find((name) => own(PROTOCOLS, name) === number) ?? String(number);

/** `code` undefined: all of them. */
export type IcmpType = { type: number; code: number | undefined };

type Named = Readonly<Record<string, readonly [number, number?]>>;

const V4: Named = {
  any: [255],
  'echo-reply': [0],
  pong: [0],
  'destination-unreachable': [3],
  'network-unreachable': [3, 0],
  'host-unreachable': [3, 1],
  'protocol-unreachable': [3, 2],
  'port-unreachable': [3, 3],
  'fragmentation-needed': [3, 4],
  'source-route-failed': [3, 5],
  'network-unknown': [3, 6],
  'host-unknown': [3, 7],
  'network-prohibited': [3, 9],
  'host-prohibited': [3, 10],
  'TOS-network-unreachable': [3, 11],
  'TOS-host-unreachable': [3, 12],
  'communication-prohibited': [3, 13],
  'host-precedence-violation': [3, 14],
  'precedence-cutoff': [3, 15],
  'source-quench': [4],
  redirect: [5],
  'network-redirect': [5, 0],
  'host-redirect': [5, 1],
  'TOS-network-redirect': [5, 2],
  'TOS-host-redirect': [5, 3],
  'echo-request': [8],
  ping: [8],
  'router-advertisement': [9],
  'router-solicitation': [10],
  'time-exceeded': [11],
  'ttl-exceeded': [11],
  'ttl-zero-during-transit': [11, 0],
  'ttl-zero-during-reassembly': [11, 1],
  'parameter-problem': [12],
  'ip-header-bad': [12, 0],
  'required-option-missing': [12, 1],
  'timestamp-request': [13],
  'timestamp-reply': [14],
  'address-mask-request': [17],
  'address-mask-reply': [18],
};

const V6: Named = {
  'destination-unreachable': [1],
  'no-route': [1, 0],
  'communication-prohibited': [1, 1],
  'address-unreachable': [1, 3],
  'port-unreachable': [1, 4],
  'packet-too-big': [2],
  'time-exceeded': [3],
  'ttl-exceeded': [3],
  'ttl-zero-during-transit': [3, 0],
  'ttl-zero-during-reassembly': [3, 1],
  'parameter-problem': [4],
  'bad-header': [4, 0],
  'unknown-header-type': [4, 1],
  'unknown-option': [4, 2],
  'echo-request': [128],
  ping: [128],
  'echo-reply': [129],
  pong: [129],
  'multicast-listener-query': [130],
  'multicast-listener-report': [131],
  'multicast-listener-done': [132],
  'router-solicitation': [133],
  'router-advertisement': [134],
  'neighbour-solicitation': [135],
  'neighbor-solicitation': [135],
  'neighbour-advertisement': [136],
  'neighbor-advertisement': [136],
  redirect: [137],
  'router-renumbering': [138],
  'node-info-query': [139],
  'node-info-response': [140],
  'inverse-neighbour-discovery-solicitation-message': [141],
  'inverse-neighbor-discovery-solicitation-message': [141],
  'inverse-neighbour-discovery-advertisement-message': [142],
  'inverse-neighbor-discovery-advertisement-message': [142],
  'v2-multicast-listener-report': [143],
  'home-agent-address-discovery-request-message': [144],
  'home-agent-address-discovery-reply-message': [145],
  'mobile-prefix-solicitation': [146],
  'mobile-prefix-advertisement': [147],
  'certification-path-solicitation-message': [148],
  'certification-path-advertisement-message': [149],
  'seamoby-protocol-message': [150],
  'multicast-router-advertisement': [151],
  'multicast-router-solicitation': [152],
  'multicast-router-termination': [153],
  'fmipv6-message': [154],
  'rpl-control-message': [155],
  'ilnpv6-locator-update-message': [156],
  'duplicate-address-request': [157],
  'duplicate-address-confirmation': [158],
  'mpl-control-message': [159],
  'extended-echo-request': [160],
  'extended-ping': [160],
  'extended-echo-reply': [161],
  'extended-pong': [161],
};

/** What a value of `icmp_type` means in each version of IP; undefined: firewall4 refuses it. */
export const icmpTypes = (
  text: string,
): { 4: IcmpType | undefined; 6: IcmpType | undefined } | undefined => {
  const v4 = own(V4, text);
  const v6 = own(V6, text);
  if (v4 || v6) return { 4: v4 && typeOf(v4), 6: v6 && typeOf(v6) };
  const [, type, code] = /^(\d+)(?:\/(\d+))?$/.exec(text) ?? [];
  if (type === undefined || Number(type) > 255 || Number(code ?? 0) > 255) return undefined;
  const one = { type: Number(type), code: code === undefined ? undefined : Number(code) };
  return { 4: one, 6: one };
};

const typeOf = ([type, code]: readonly [number, number?]): IcmpType => ({ type, code });
