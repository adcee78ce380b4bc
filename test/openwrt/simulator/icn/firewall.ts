/** firewall/v1: zones, rules, redirects and forwardings, all anonymous sections of `firewall`. */
import { luaError, Refusal } from './errors.ts';
import {
  definedBy,
  flag,
  icmpTypes,
  mac,
  negatableNetwork,
  network,
  oneOf,
  plain,
  positive,
  protocol,
} from './checks.ts';
import type { Collection } from './collection.ts';
import type { Check, Context, Data, Field } from './fields.ts';

const policy = oneOf('ACCEPT', 'REJECT', 'DROP');
const family = oneOf('ipv4', 'ipv6', 'any');
const LONGEST_ZONE_NAME = 11;

const zoneName: Check = (value) => {
  if (typeof value === 'object')
    throw luaError(
      'firewall_rest.lua:114',
      "bad argument #1 to 'len' (string expected, got table)",
    );
  return (
    String(value).length <= LONGEST_ZONE_NAME ||
    `The length of Name shall not exceed ${LONGEST_ZONE_NAME} characters`
  );
};

const zones = ({ uci }: Context): string[] =>
  uci.sections('firewall', 'zone').map(({ options }) => String(options.get('name')));

const zone = (name: string): Field =>
  plain(
    name,
    definedBy('Zone', (value, context) => zones(context).includes(value)),
  );

const networkInterface = definedBy('Interface', (name, { uci }) => {
  const section = uci.load('network').find(name);
  return section?.type === 'interface';
});

/** Whether a rule, forwarding or redirect is for the zone. */
const isZoneUsed = (name: string, { uci }: Context): boolean =>
  uci
    .load('firewall')
    .sections.some(
      ({ type, options }) =>
        ['rule', 'forwarding', 'redirect'].includes(type) &&
        [options.get('src'), options.get('dest')].includes(name),
    );

const base = { package: 'firewall', named: false } as const;

export const ZONES: Collection = {
  ...base,
  key: 'zones',
  noun: 'zone',
  type: 'zone',
  fields: [
    { name: 'name', check: zoneName, message: 'invalid zone name' },
    { ...plain('network', networkInterface), list: true },
    plain('masq', flag),
    { ...plain('masq_src', negatableNetwork), list: true },
    { ...plain('masq_dest', negatableNetwork), list: true },
    plain('masq_allow_invalid', flag),
    plain('mtu_fix', flag),
    plain('input', policy),
    plain('forward', policy),
    plain('output', policy),
    plain('family', family),
    { ...plain('subnet', network), list: true },
    plain('extra_src'),
    plain('etra_dest'),
  ],
  inUse: isZoneUsed,
};

/** @throws Refusal */
export const needsMark = (data: Data): Data => {
  if (
    data['target'] === 'MARK' &&
    data['set_mark'] === undefined &&
    data['set_xmark'] === undefined
  )
    throw new Refusal(400, 'set_mark or set_xmark is required for MARK');
  return data;
};

export const RULES: Collection = {
  ...base,
  key: 'rules',
  noun: 'rule',
  type: 'rule',
  fields: [
    plain('name'),
    zone('src'),
    plain('src_ip', network),
    plain('src_mac', mac),
    plain('src_port', positive),
    plain('proto', protocol),
    { ...plain('icmp_type', icmpTypes('address-mask-request ')), list: true },
    zone('dest'),
    plain('dest_ip', network),
    plain('dest_port', positive),
    plain('mark'),
    plain('target', oneOf('ACCEPT', 'REJECT', 'DROP', 'MARK', 'NOTRACK')),
    plain('set_mark'),
    plain('set_xmark'),
    plain('family', family),
    plain('extra'),
  ],
  check: needsMark,
};

const requireFor = (data: Data, target: string, fields: readonly string[]): void => {
  if (data['target'] !== target) return;
  for (const field of fields)
    if (data[field] === undefined) throw new Refusal(400, `${field} is required for ${target}`);
};

export const REDIRECTS: Collection = {
  ...base,
  key: 'redirects',
  noun: 'redirect',
  type: 'redirect',
  fields: [
    plain('name'),
    zone('src'),
    plain('src_ip', network),
    plain('src_dip', network),
    plain('src_mac', mac),
    plain('src_port', positive),
    { name: 'src_dport', check: positive, message: 'invalid src_port' },
    plain('proto', protocol),
    zone('dest'),
    plain('dest_ip', network),
    plain('dest_port', positive),
    plain('mark'),
    plain('target', oneOf('SNAT', 'DNAT')),
    plain('family', family),
  ],
  check: (data) => {
    requireFor(data, 'SNAT', ['src_dip', 'dest']);
    requireFor(data, 'DNAT', ['src']);
    return data;
  },
};

export const FORWARDINGS: Collection = {
  ...base,
  key: 'forwardings',
  noun: 'forwarding',
  type: 'forwarding',
  fields: [plain('name'), zone('src'), zone('dest'), plain('family', family)],
};
