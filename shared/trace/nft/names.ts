/** Names that nft prints instead of numbers (nft describe). */
import { own } from '../../util/own.ts';
import { icmpTypes, protocolNumber } from '../protocols.ts';
import * as values from '../values.ts';

type Names = Readonly<Record<string, number>>;

const PROTOCOLS: Names = { ospf: 89, ipcomp: 108, comp: 108, vrrp: 112, pim: 103, eigrp: 88 };

export const protocol = (text: string): number | undefined =>
  protocolNumber(text) ?? own(PROTOCOLS, text);

/** Where nft calls a type otherwise than firewall4 does. */
const TYPES: Readonly<Record<4 | 6, Names>> = {
  4: { 'info-request': 15, 'info-reply': 16 },
  6: {
    'mld-listener-query': 130,
    'mld-listener-report': 131,
    'mld-listener-done': 132,
    'mld-listener-reduction': 132,
    'nd-router-solicit': 133,
    'nd-router-advert': 134,
    'nd-neighbor-solicit': 135,
    'nd-neighbor-advert': 136,
    'nd-redirect': 137,
    'ind-neighbor-solicit': 141,
    'ind-neighbor-advert': 142,
    'mld2-listener-report': 143,
  },
};

export const icmpType = (text: string, family: 4 | 6): number | undefined =>
  own(TYPES[family], text) ?? icmpTypes(text)?.[family]?.type;

const CODES: Readonly<Record<4 | 6, Names>> = {
  4: {
    'net-unreachable': 0,
    'host-unreachable': 1,
    'prot-unreachable': 2,
    'port-unreachable': 3,
    'frag-needed': 4,
    'net-prohibited': 9,
    'host-prohibited': 10,
    'admin-prohibited': 13,
  },
  6: {
    'no-route': 0,
    'admin-prohibited': 1,
    'addr-unreachable': 3,
    'port-unreachable': 4,
    'policy-fail': 5,
    'reject-route': 6,
  },
};

export const icmpCode = (text: string, family: 4 | 6): number | undefined =>
  own(CODES[family], text) ?? number(text, 255);

export const dscp = (text: string): number | undefined => values.dscp(text)?.value;

/** Decimal or hexadecimal. */
export const number = (text: string, highest: number): number | undefined => {
  const value = /^(0x[0-9a-f]{1,8}|\d{1,10})$/.test(text) ? Number(text) : undefined;
  return value !== undefined && value <= highest ? value : undefined;
};
