/** What firewall4 checks over several options of a section. */
import { isIP } from 'node:net';
import { firstOf, protocolsOf, type Values } from './values.ts';

export type Complaint = {
  message: string;
  /** Whether the section is not loaded. */
  leftOut: boolean;
  /** How often fw4 says it; once when absent. */
  times?: number;
};

const leavesOut = (message: string): Complaint => ({ message, leftOut: true });
const takesAnyway = (message: string): Complaint => ({ message, leftOut: false });

export const complaintOf = (type: string, values: Values): Complaint | undefined =>
  COMPLAINTS[type]?.(values);

const COMPLAINTS: Readonly<Record<string, (values: Values) => Complaint | undefined>> = {
  rule: (values) => {
    const target = firstOf(values, 'target') ?? '';
    const zone = firstOf(values, 'src');
    if (['helper', 'notrack'].includes(target) && (zone === undefined || zone === '*'))
      return leavesOut(`must specify a source zone for target '${target}'`);
    if (target === 'dscp' && !values.has('set_dscp'))
      return leavesOut("must specify option 'set_dscp' for target 'dscp'");
    if (target === 'mark' && !values.has('set_mark') && !values.has('set_xmark'))
      return leavesOut("must specify option 'set_mark' or 'set_xmark' for target 'mark'");
    if (target === 'helper' && !values.has('set_helper'))
      return leavesOut("must specify option 'set_helper' for target 'helper'");
    return familyComplaint(values, { 'source IP': 'src_ip', 'destination IP': 'dest_ip' });
  },
  redirect: (values) => {
    const target = firstOf(values, 'target') ?? 'dnat';
    if (target !== 'dnat' && target !== 'snat')
      return takesAnyway('has invalid target specified, defaulting to dnat');
    const [complaint, addresses] =
      target === 'snat'
        ? [snatComplaint(values), SNAT_ADDRESSES]
        : [dnatComplaint(values), DNAT_ADDRESSES];
    return complaint ?? familyComplaint(values, addresses);
  },
  nat: (values) => {
    const target = firstOf(values, 'target') ?? 'masquerade';
    if (target === 'snat' && !values.has('snat_ip') && !values.has('snat_port'))
      return leavesOut("needs either 'snat_ip' or 'snat_port' for target snat, ignoring section");
    if (target !== 'snat' && values.has('snat_ip'))
      return leavesOut("must not use 'snat_ip' for non-snat target, ignoring section");
    return undefined;
  },
  ipset: (values) => (values.has('match') ? undefined : leavesOut('has no datatypes assigned')),
};

const dnatComplaint = (values: Values): Complaint | undefined => {
  const source = firstOf(values, 'src');
  if (source === undefined) return leavesOut('has no source specified');
  if (source === '*') return leavesOut("must not have source '*' for dnat target");
  if (values.get('dest_ip')?.[0]?.inverted)
    return leavesOut("must not specify a negated 'dest_ip' value");
  return undefined;
};

const snatComplaint = (values: Values): Complaint | undefined => {
  const destination = firstOf(values, 'dest');
  if (destination === undefined) return leavesOut('has no destination specified');
  if (destination === '*') return leavesOut("must not have destination '*' for snat target");
  if (!values.has('src_dip')) return leavesOut("has no 'src_dip' option specified");
  if (values.get('src_dip')?.[0]?.inverted)
    return leavesOut("must not specify a negated 'src_dip' value");
  if (values.has('src_mac')) return leavesOut("must not use 'src_mac' option for snat target");
  return undefined;
};

const SNAT_ADDRESSES = {
  'source IP': 'src_ip',
  'destination IP': 'dest_ip',
  'rewrite IP': 'src_dip',
};
const DNAT_ADDRESSES = {
  'source IP': 'src_ip',
  'destination IP': 'src_dip',
  'rewrite IP': 'dest_ip',
};

/** IPv4 and IPv6 do not go together in one section; fw4 complains for each protocol of it. */
const familyComplaint = (
  values: Values,
  addresses: Readonly<Record<string, string>>,
): Complaint | undefined => {
  let family = familyOf(firstOf(values, 'family') ?? '');
  for (const [title, option] of Object.entries(addresses)) {
    const own = addressFamily(values, option);
    if (own === 0 || own === family) continue;
    if (family !== 0)
      return {
        ...leavesOut(
          `is restricted to IPv${family} but referenced ${title} is IPv${own} only, skipping`,
        ),
        times: protocolsOf(values).length,
      };
    family = own;
  }
  return undefined;
};

/** 4, 6, or 0 for no restriction. */
const familyOf = (text: string): number => {
  if (text === 'inet' || text.includes('4')) return 4;
  return text.includes('6') ? 6 : 0;
};

const addressFamily = (values: Values, option: string): number => {
  const families = new Set(
    (values.get(option) ?? []).map(({ value }) => isIP(value.split(/[/-]/)[0] ?? '')),
  );
  return families.size === 1 ? ([...families][0] ?? 0) : 0;
};
