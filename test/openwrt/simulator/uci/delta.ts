/**
 * Delta files: what a session has staged for one package, one change per line. As in libuci a line
 * that cannot be read or made is skipped without a word, and an open quote swallows all that
 * follows.
 */
import { UciError } from './errors.ts';
import { LineReader } from './lines.ts';
import { isName, isValueText } from './names.ts';
import type { UciChange, UciPackage } from './package.ts';
import { escape } from './text.ts';

const PREFIXES: Readonly<Record<string, UciChange['command']>> = {
  '+': 'add',
  '-': 'remove',
  '@': 'rename',
  '^': 'order',
  '|': 'list-add',
};
const PREFIX_OF: Readonly<Record<UciChange['command'], string>> = {
  add: '+',
  remove: '-',
  rename: '@',
  order: '^',
  'list-add': '|',
  set: '',
};

export const formatChange = (packageName: string, change: UciChange): string => {
  const option = change.option === undefined ? '' : `.${change.option}`;
  const value = change.value === undefined ? '' : `='${escape(change.value)}'`;
  return `${PREFIX_OF[change.command]}${packageName}.${change.section}${option}${value}\n`;
};

/**
 * Makes the changes of a delta file on `uciPackage`. `staged` is what rpcd's `uci changes` shows,
 * lines that could be read but not made included; `made` counts those that could be made.
 */
export const applyDelta = (
  uciPackage: UciPackage,
  text: string,
): { staged: UciChange[]; made: number } => {
  const reader = new LineReader(text);
  const staged: UciChange[] = [];
  let made = 0;
  for (;;) {
    try {
      const line = reader.lineMatching(CHANGE_LINE);
      if (!line && !reader.nextLine()) return { staged, made };
      const change = line ? changeOf(uciPackage.name, line) : parseChange(uciPackage.name, reader);
      if (!change) continue;
      staged.push(change);
      uciPackage.apply(change);
      made += 1;
    } catch (error) {
      if (!(error instanceof UciError)) throw error;
    }
  }
};

/** A line as libuci itself writes it, without a quote in its value. */
const CHANGE_LINE =
  // eslint-disable-next-line no-control-regex -- values with control characters are no good
  /([-@^|+]?)([\w-]+)\.(\w+)(?:\.(\w+))?(?:='([^'\x00-\x08\x0b\x0c\x0e-\x1f]*)')?\n/y;

const changeOf = (
  packageName: string,
  [, prefix = '', name, section = '', option, value]: RegExpExecArray,
): UciChange | undefined => {
  const change: UciChange = { command: PREFIXES[prefix] ?? 'set', section };
  if (option !== undefined) change.option = option;
  if (value !== undefined) change.value = value;
  return name === packageName && isGood(change) ? change : undefined;
};

const parseChange = (packageName: string, reader: LineReader): UciChange | undefined => {
  const argument = reader.argument();
  if (!reader.atEnd) return undefined;
  const command = PREFIXES[argument[0] ?? ''] ?? 'set';
  const tuple = command === 'set' ? argument : argument.slice(1);
  const equals = tuple.indexOf('=');
  const path = (equals < 0 ? tuple : tuple.slice(0, equals)).split('.');
  const value = equals < 0 ? {} : { value: tuple.slice(equals + 1) };
  const [name, section, option, more] = path;
  if (name !== packageName || section === undefined || more !== undefined) return undefined;
  const change = { command, section, ...(option === undefined ? {} : { option }), ...value };
  return isGood(change) ? change : undefined;
};

const isGood = ({ command, section, option, value }: UciChange): boolean => {
  if (!isName(section) || (option !== undefined && !isName(option))) return false;
  if (value === undefined ? command !== 'remove' : !isValueText(value)) return false;
  if (command === 'rename') return isName(value ?? '');
  if (command === 'order') return option === undefined;
  return option !== undefined || command !== 'list-add';
};
