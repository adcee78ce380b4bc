/**
 * Between JSON and UCI as rpcd translates: sections and changes to JSON, JSON values to option
 * text, and matching.
 */
import type { Json, JsonObject } from '../../json.ts';
import type { UciChange, UciPackage, UciSection, UciValue } from '../../uci/package.ts';
import type { Arguments } from '../bus.ts';

/** How rpcd writes a JSON value as an option; undefined for those that it refuses. */
export const textOf = (value: Json): string | undefined => {
  if (typeof value === 'string') return value;
  if (typeof value === 'boolean') return value ? '1' : '0';
  if (typeof value !== 'number' || !Number.isInteger(value)) return undefined;
  return value === (value | 0) ? String(value >>> 0) : String(BigInt.asUintN(64, BigInt(value)));
};

export const isSectionType = (text: string): boolean => /^[\w-]+$/.test(text);

/** Whether a section has the `type` and the options of `match` that a call names. */
export const matches = (section: UciSection, args: Arguments): boolean => {
  const type = args.text('type');
  if (type !== undefined && section.type !== type) return false;
  const wanted = Object.entries(args.object('match') ?? {})
    .map(([option, value]) => [option, textOf(value)] as const)
    .filter(([, text]) => text !== undefined);
  const present = wanted.filter(([option]) => section.options.has(option));
  return (
    present.every(([option, text]) => holds(section.options.get(option) ?? '', text ?? '')) &&
    (wanted.length === 0 || present.length > 0)
  );
};

/** A list has the item, or one word of a scalar is it. */
const holds = (value: UciValue, wanted: string): boolean =>
  (typeof value === 'string' ? value.split(/[ \t]+/) : value).includes(wanted);

export const dumpPackage = (uciPackage: UciPackage, args: Arguments): JsonObject =>
  Object.fromEntries(
    uciPackage.sections
      .map((section, index) => ({ section, index }))
      .filter(({ section }) => matches(section, args))
      .map(({ section, index }) => [section.name, dumpSection(section, index)]),
  );

export const dumpSection = (section: UciSection, index?: number): JsonObject => ({
  '.anonymous': section.anonymous,
  '.type': section.type,
  '.name': section.name,
  ...(index === undefined ? {} : { '.index': index }),
  ...Object.fromEntries(section.options),
});

export const dumpChange = ({ command, section, option, value }: UciChange): Json => [
  command,
  section,
  ...(option === undefined ? [] : [option]),
  ...(value === undefined ? [] : [command === 'order' ? Number.parseInt(value, 10) || 0 : value]),
];
