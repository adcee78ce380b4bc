/**
 * The text of a UCI package: reads all that libuci reads, writes byte for byte what libuci writes.
 */
import { LineReader } from './lines.ts';
import { isName, isPackageName, isType } from './names.ts';
import { UciPackage, type UciSection } from './package.ts';

/**
 * @throws UciParseError as rpcd and the `uci` command refuse it (both are strict: one bad line
 * fails the whole file).
 */
export const parsePackage = (name: string, text: string): UciPackage => {
  const parser = new Parser(name, text);
  return parser.parse();
};

/** Every package begins with an empty line and ends with one; comments are gone. */
export const formatPackage = (uciPackage: UciPackage): string => {
  const parts: string[] = [];
  for (const section of uciPackage.sections) {
    parts.push(`\nconfig ${escape(section.type)}`);
    if (!section.anonymous) parts.push(` '${escape(section.name)}'`);
    parts.push('\n');
    for (const [option, value] of section.options) {
      if (typeof value === 'string') parts.push(`\toption ${option} '${escape(value)}'\n`);
      else for (const item of value) parts.push(`\tlist ${option} '${escape(item)}'\n`);
    }
  }
  parts.push('\n');
  return parts.join('');
};

export const escape = (text: string): string =>
  text.includes("'") ? text.replaceAll("'", `'\\''`) : text;

/** A line as libuci itself writes it: nine of ten, and not worth the quoting rules. */
const OPTION_LINE = /\t(option|list) (\w+) '([^'\n]*)'\n/y;

class Parser {
  readonly #reader: LineReader;
  readonly #package: UciPackage;
  #section: UciSection | undefined;

  constructor(name: string, text: string) {
    this.#reader = new LineReader(text);
    this.#package = new UciPackage(name);
  }

  parse(): UciPackage {
    for (;;) {
      const option = this.#section && this.#reader.lineMatching(OPTION_LINE);
      if (option) {
        const [, command, name = '', value = ''] = option;
        this.#setOption(name, value, command === 'list');
        continue;
      }
      if (!this.#reader.nextLine()) return this.#package;
      for (
        let word = this.#reader.commandWord();
        word !== undefined && !word.startsWith('#');
        word = this.#reader.commandWord()
      )
        this.#command(word);
    }
  }

  #command(word: string): void {
    switch (word) {
      case 'option':
      case 'o':
        return this.#option(false);
      case 'list':
      case 'l':
        return this.#option(true);
      case 'config':
      case 'c':
        return this.#config();
      case 'package':
      case 'p':
        // The name of the file counts, not this line.
        this.#name(isPackageName);
        return this.#endOfCommand();
      default:
        return this.#reader.fail('invalid command');
    }
  }

  #config(): void {
    const type = this.#reader.argument();
    if (type === '') this.#reader.fail('insufficient arguments');
    if (!isType(type)) this.#reader.fail('invalid character in type field');
    const name = this.#reader.argument();
    if (name !== '' && !isName(name)) this.#reader.fail('invalid character in name field');
    this.#endOfCommand();
    const existing = name === '' ? undefined : this.#package.find(name);
    if (existing && existing.type !== type)
      this.#reader.fail('section of different type overwrites prior section with same name');
    this.#section = existing ?? this.#package.append(type, name === '' ? undefined : name);
  }

  #option(list: boolean): void {
    if (!this.#section)
      return this.#reader.fail('option/list command found before the first section');
    const option = this.#name(isName);
    const value = this.#reader.argument();
    this.#endOfCommand();
    this.#setOption(option, value, list);
  }

  #setOption(option: string, value: string, list: boolean): void {
    const section = this.#section?.name ?? '';
    if (value === '' && !list) return;
    this.#package.apply({ command: list ? 'list-add' : 'set', section, option, value });
  }

  #name(valid: (text: string) => boolean): string {
    const name = this.#reader.argument();
    if (name === '') this.#reader.fail('insufficient arguments');
    if (!valid(name)) this.#reader.fail('invalid character in name field');
    return name;
  }

  #endOfCommand(): void {
    if (this.#reader.argument() !== '') this.#reader.fail('too many arguments');
  }
}
