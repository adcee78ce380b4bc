/**
 * What `fw4` makes of a firewall package: which sections it takes, what it warns about, in its words and its order.
 * A bad section is left out and named; the rest is loaded. What nft then refuses as a whole is in nft.ts.
 */
import type { UciPackage, UciSection } from '../../uci/package.ts';
import { SECTION_SPECS, type OptionSpec } from './sections.ts';
import { parseValue, type Context, type Inverted } from './values.ts';

/** A section that fw4 took, with the values of its options; scalars are lists of one. */
export type TakenSection = {
  section: UciSection;
  values: ReadonlyMap<string, readonly Inverted[]>;
};
export type Judgement = { warnings: string[]; taken: TakenSection[] };

/** The order in which fw4 reads the types. */
const TYPE_ORDER = [
  'defaults',
  'ipset',
  'zone',
  'rule',
  'forwarding',
  'redirect',
  'nat',
  'include',
];

/** `helpers`: the connection-tracking helpers that fw4 ships. */
const HELPERS = [
  'amanda',
  'ftp',
  'RAS',
  'Q.931',
  'irc',
  'netbios-ns',
  'pptp',
  'sane',
  'sip',
  'snmp',
  'tftp',
  'rtsp',
];

export const judgeFirewall = (uciPackage: UciPackage, networks: readonly string[]): Judgement => {
  const warnings: string[] = [];
  const taken: TakenSection[] = [];
  const zones: string[] = [];
  const context: Context = { zones, networks, helpers: HELPERS };
  for (const type of TYPE_ORDER) {
    for (const section of uciPackage.sections.filter((one) => one.type === type)) {
      const warn = (message: string): void => {
        warnings.push(`[!] ${titleOf(uciPackage, section)} ${message}\n`);
      };
      const values = judgeSection(section, context, warn);
      if (!values) continue;
      taken.push({ section, values });
      if (type === 'zone') zones.push(firstOf(values, 'name') ?? '');
    }
  }
  return { warnings, taken };
};

export const firstOf = (values: TakenSection['values'], option: string): string | undefined =>
  values.get(option)?.[0]?.value;

/** Undefined for a section that is left out. */
const judgeSection = (
  section: UciSection,
  context: Context,
  warn: (message: string) => void,
): TakenSection['values'] | undefined => {
  const values = judgeOptions(section, context, warn);
  if (!values) {
    if (section.type !== 'defaults' && section.type !== 'include')
      warn('skipped due to invalid options');
    return undefined;
  }
  if (['0', 'off', 'false', 'no'].includes(firstOf(values, 'enabled') ?? '1')) {
    warn('is disabled, ignoring section');
    return undefined;
  }
  const complaint = COMPLAINTS[section.type]?.(values);
  if (complaint !== undefined) warn(complaint.message);
  return complaint?.leftOut === true ? undefined : values;
};

const judgeOptions = (
  section: UciSection,
  context: Context,
  warn: (message: string) => void,
): Map<string, readonly Inverted[]> | undefined => {
  const specs = SECTION_SPECS[section.type] ?? {};
  const values = new Map<string, readonly Inverted[]>();
  for (const [option, spec] of Object.entries(specs)) {
    const parsed = judgeOption({ section, option, spec }, context, warn);
    if (parsed === 'bad') return undefined;
    if (parsed.length === 0) continue;
    if (spec.ignored === undefined) values.set(option, parsed);
    else warn(`option '${option}' ${spec.ignored}`);
  }
  for (const option of section.options.keys())
    if (option !== 'type' && !Object.hasOwn(specs, option))
      warn(`specifies unknown option '${option}'`);
  return values;
};

const judgeOption = (
  { section, option, spec }: { section: UciSection; option: string; spec: OptionSpec },
  context: Context,
  warn: (message: string) => void,
): Inverted[] | 'bad' => {
  const bad = (message: string): 'bad' => {
    warn(`option '${option}' ${message}`);
    return 'bad';
  };
  const value = section.options.get(option);
  if (value === undefined) return spec.required ? bad('is mandatory but not set') : [];
  if (typeof value !== 'string' && !spec.list) return bad('must not be a list');
  const texts =
    typeof value !== 'string' ? value : spec.list ? value.trim().split(/[ \t]+/) : [value];
  const parsed: Inverted[] = [];
  for (const text of texts) {
    const one = parseValue(spec.kind, text, context);
    if (!one) return bad(`specifies invalid value '${text}'`);
    parsed.push(one);
  }
  if (spec.noInvert && parsed.some(({ inverted }) => inverted)) return bad('must not be negated');
  return parsed;
};

/** `Section name (its name option)`; an anonymous one is named by type and place. */
const titleOf = (uciPackage: UciPackage, section: UciSection): string => {
  const name = section.options.get('name');
  const place = (): number =>
    uciPackage.sections.filter(({ type }) => type === section.type).indexOf(section);
  const id = section.anonymous ? `@${section.type}[${place()}]` : section.name;
  return typeof name === 'string' ? `Section ${id} (${name})` : `Section ${id}`;
};

type Complaint = { message: string; leftOut: boolean };
const leavesOut = (message: string): Complaint => ({ message, leftOut: true });
const takesAnyway = (message: string): Complaint => ({ message, leftOut: false });

/** What fw4 checks over several options of a section. */
const COMPLAINTS: Readonly<
  Record<string, (values: TakenSection['values']) => Complaint | undefined>
> = {
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
    return undefined;
  },
  redirect: (values) => {
    const target = firstOf(values, 'target') ?? 'dnat';
    if (target !== 'dnat' && target !== 'snat')
      return takesAnyway('has invalid target specified, defaulting to dnat');
    return target === 'snat' ? snatComplaint(values) : dnatComplaint(values);
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

const dnatComplaint = (values: TakenSection['values']): Complaint | undefined => {
  const source = firstOf(values, 'src');
  if (source === undefined) return leavesOut('has no source specified');
  if (source === '*') return leavesOut("must not have source '*' for dnat target");
  if (values.get('dest_ip')?.[0]?.inverted)
    return leavesOut("must not specify a negated 'dest_ip' value");
  return undefined;
};

const snatComplaint = (values: TakenSection['values']): Complaint | undefined => {
  const destination = firstOf(values, 'dest');
  if (destination === undefined) return leavesOut('has no destination specified');
  if (destination === '*') return leavesOut("must not have destination '*' for snat target");
  if (!values.has('src_dip')) return leavesOut("has no 'src_dip' option specified");
  if (values.get('src_dip')?.[0]?.inverted)
    return leavesOut("must not specify a negated 'src_dip' value");
  if (values.has('src_mac')) return leavesOut("must not use 'src_mac' option for snat target");
  return undefined;
};
