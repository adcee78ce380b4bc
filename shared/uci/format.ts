/**
 * Writes UCI text: whole packages for `uci import`, and the delta file that rpcd applies. Nothing
 * is written that libuci reads otherwise.
 */
import type { UciDelta, UciPackage, UciSection, UciValue } from './model.ts';
import { oncePerObject } from '../util/memo.ts';
import { isUciName, isUciType, isUciValue } from './names.ts';

/** UCI cannot hold a name or value: a bug, since schemas refuse such. Never holds the value. */
export class UciFormatError extends Error {
  override name = 'UciFormatError';
}

/**
 * As libuci exports it. Options that are empty are left out, as UCI has none. Values may hold
 * control characters: a file that an administrator wrote must come out as it was. @throws
 * UciFormatError
 */
export const formatPackage = (uciPackage: UciPackage): string =>
  `${uciPackage.sections.map(formatSection).join('')}\n`;

/** Nearly all sections of a package are as they were. */
const formatSection = oncePerObject((section: UciSection): string => {
  const type = isUciType(section.type) ? section.type : quote(section.type);
  const name = section.anonymous ? '' : ` '${checkedName(section.name)}'`;
  const lines = entries(section).map(([option, value]) =>
    typeof value === 'string'
      ? `\toption ${option} ${quote(value)}\n`
      : value.map((item) => `\tlist ${option} ${quote(item)}\n`).join(''),
  );
  return `\nconfig ${type}${name}\n${lines.join('')}`;
});

/**
 * The staging file of an rpcd session that has the effect of `delta`; empty when nothing is to do.
 * Lines are independent of each other but must arrive whole. @throws UciFormatError
 */
export const formatDeltaFile = (delta: UciDelta): string => {
  const prefix = checkedName(delta.package);
  const lines = [
    ...delta.remove.map((name) => `-${prefix}.${checkedName(name)}`),
    ...delta.set.flatMap(({ before, after }) => {
      const section = `${prefix}.${checkedName(before.name)}`;
      return [
        // The type first: libuci refuses options of a section it does not know.
        ...(before.type === after.type ? [] : [`${section}='${checkedType(after.type)}'`]),
        ...Object.keys(before.options).map((option) => `-${section}.${checkedName(option)}`),
        ...optionLines(section, after),
      ];
    }),
    ...delta.append.flatMap((added) => {
      const section = `${prefix}.${checkedName(added.name)}`;
      return [`${section}='${checkedType(added.type)}'`, ...optionLines(section, added)];
    }),
  ];
  return lines.map((line) => `${line}\n`).join('');
};

/** The same for sections that are to have other names, in their places. @throws UciFormatError */
export const formatRenames = (
  renames: readonly { package: string; section: UciSection; name: string }[],
): string =>
  renames
    .map(
      ({ package: uciPackage, section, name }) =>
        `@${checkedName(uciPackage)}.${checkedName(section.name)}='${checkedName(name)}'\n`,
    )
    .join('');

const optionLines = (section: string, { options }: UciSection): string[] =>
  entries({ options }).flatMap(([option, value]) =>
    typeof value === 'string'
      ? [`${section}.${option}=${quote(checkedValue(value))}`]
      : value.map((item) => `|${section}.${option}=${quote(checkedValue(item))}`),
  );

const entries = ({ options }: Pick<UciSection, 'options'>): [string, UciValue][] =>
  Object.entries(options)
    .filter(([, value]) => value.length > 0)
    .map(([option, value]) => [checkedName(option), value]);

/** Single quotes take everything literally, so only the quote itself needs care. */
const quote = (value: string): string => {
  if (value.includes('\0') || !value.isWellFormed()) {
    throw new UciFormatError('a value has a NUL or is no Unicode text');
  }
  return `'${value.replaceAll("'", String.raw`'\''`)}'`;
};

/** libuci skips a delta line with a control character, except for newline (measured). */
const checkedValue = (value: string): string => {
  if (!isUciValue(value.replaceAll('\n', ''))) {
    throw new UciFormatError('a value has control characters or is no Unicode text');
  }
  return value;
};

const checkedName = (name: string): string => {
  if (!isUciName(name)) throw new UciFormatError(`${JSON.stringify(name)} is no UCI name`);
  return name;
};

const checkedType = (type: string): string => {
  if (!isUciType(type)) throw new UciFormatError(`${JSON.stringify(type)} is no UCI type`);
  return type;
};
