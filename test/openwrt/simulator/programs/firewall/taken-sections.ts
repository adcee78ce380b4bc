/**
 * What `fw4` makes of a firewall package: which sections it takes, what it warns about of single
 * options, in its words and its order. A bad section is left out and named; the rest is loaded.
 * What nft then refuses as a whole is in nft.ts.
 */
import type { UciPackage, UciSection } from '../../uci/package.ts';
import { SECTION_SPECS, type OptionSpec } from './sections.ts';
import { assumedZone, type Subnets } from './subnets.ts';
import { firstOf, parseValue, type Context, type Inverted, type Values } from './values.ts';

/** A section that fw4 took, with the values of its options; scalars are lists of one. */
export type TakenSection = {
  section: UciSection;
  values: Values;
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

export const judgeFirewall = (uciPackage: UciPackage, subnets: Subnets): Judgement => {
  const warnings: string[] = [];
  const taken: TakenSection[] = [];
  const zones: string[] = [];
  const context: Context = { zones, networks: [...subnets.keys()], helpers: HELPERS };
  for (const type of TYPE_ORDER) {
    for (const section of uciPackage.sections.filter((one) => one.type === type)) {
      const warn = (message: string): void => {
        warnings.push(`[!] ${titleOf(uciPackage, section)} ${message}\n`);
      };
      const values = judgeSection(section, context, warn);
      if (!values) continue;
      const zone = type === 'redirect' ? assumedZone(values, taken, subnets) : undefined;
      if (zone !== undefined) warn(`does not specify a destination, assuming '${zone}'`);
      taken.push({ section, values });
      if (type === 'zone') zones.push(firstOf(values, 'name') ?? '');
    }
  }
  return { warnings, taken };
};

/** Undefined for a section that is left out. */
const judgeSection = (
  section: UciSection,
  context: Context,
  warn: (message: string) => void,
): Values | undefined => {
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
  return values;
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
