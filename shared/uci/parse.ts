/**
 * Reads the text of a file of /etc/config as libuci does (file.c of libuci, strict mode): what libuci refuses is refused
 * here, what it accepts gives the same sections, anonymous names included.
 */
import type { UciPackage, UciSection, UciValue } from './model.ts';
import { isUciName } from './names.ts';

/** The text is no UCI; OpenWRT could not load it either. */
export class UciSyntaxError extends Error {
  override name = 'UciSyntaxError';
  readonly line: number;
  constructor(line: number, message: string) {
    super(`line ${line}: ${message}`);
    this.line = line;
  }
}

/** @throws UciSyntaxError */
export const parsePackage = (name: string, text: string): UciPackage => {
  const builder = new PackageBuilder();
  const scanner = new Scanner(text);
  for (let word = scanner.command(); word !== undefined; word = scanner.command()) {
    runCommand(word, scanner, builder);
  }
  return { name, sections: builder.sections };
};

/** The id that libuci gives an anonymous section: its place in the file, counted from one, and a hash of its type. */
export const anonymousName = (place: number, type: string): string => {
  let hash = 5381; // djb2, as libuci computes it on unsigned 32 bit
  for (const byte of new TextEncoder().encode(type)) hash = (hash * 33 + byte) >>> 0;
  const suffix = (hash & 0x7fff_ffff) % 0x1_0000;
  return `cfg${place.toString(16).padStart(2, '0')}${suffix.toString(16).padStart(4, '0')}`;
};

const runCommand = (word: string, scanner: Scanner, builder: PackageBuilder): void => {
  const command = SHORT_FORMS[word] ?? word;
  if (command === 'config') openSection(scanner, builder);
  else if (command === 'option' || command === 'list') addOption(command, scanner, builder);
  // The file's name decides; libuci ignores the statement when it loads a single package.
  else if (command === 'package') scanner.arguments(1, 1);
  else throw scanner.error('invalid command');
};

const SHORT_FORMS: Readonly<Record<string, string>> = {
  c: 'config',
  o: 'option',
  l: 'list',
  p: 'package',
};

const openSection = (scanner: Scanner, builder: PackageBuilder): void => {
  const [type = '', name = ''] = scanner.arguments(1, 2);
  if (!/^[\x21-\x7e]+$/.test(type)) throw scanner.error('invalid character in type field');
  if (name !== '' && !isUciName(name)) throw scanner.error('invalid character in name field');
  if (!builder.section(type, name)) {
    throw scanner.error('section of different type overwrites prior section with same name');
  }
};

const addOption = (command: 'option' | 'list', scanner: Scanner, builder: PackageBuilder): void => {
  const [option = '', value = ''] = scanner.arguments(1, 2);
  if (!isUciName(option)) throw scanner.error('invalid character in name field');
  if (!builder.add(option, value, command === 'list')) {
    throw scanner.error('option/list command found before the first section');
  }
};

type Draft = { name: string; anonymous: boolean; type: string; options: Map<string, UciValue> };

class PackageBuilder {
  #drafts: Draft[] = [];
  #byName = new Map<string, Draft>();
  #current: Draft | undefined;

  /** False when a section of that name and another type exists. The same name and type again adds to the first. */
  section(type: string, name: string): boolean {
    const anonymous = name === '';
    const id = anonymous ? anonymousName(this.#drafts.length + 1, type) : name;
    const known = this.#byName.get(id);
    if (known) {
      this.#current = known;
      return known.type === type;
    }
    this.#current = { name: id, anonymous, type, options: new Map() };
    this.#drafts.push(this.#current);
    this.#byName.set(id, this.#current);
    return true;
  }

  /** False when there is no section yet. */
  add(option: string, value: string, isList: boolean): boolean {
    const options = this.#current?.options;
    if (!options) return false;
    const known = options.get(option);
    if (isList) {
      const items = known === undefined ? [] : typeof known === 'string' ? [known] : known;
      options.set(option, [...items, value]);
    } else if (value === '') {
      options.delete(option);
    } else {
      options.set(option, value);
    }
    return true;
  }

  get sections(): UciSection[] {
    return this.#drafts.map((draft) => ({ ...draft, options: Object.fromEntries(draft.options) }));
  }
}

const isSpace = (char: string | undefined): boolean =>
  char !== undefined && ' \t\n\v\f\r'.includes(char);

class Scanner {
  readonly #text: string;
  #at = 0;
  #line = 1;

  constructor(text: string) {
    this.#text = text;
    if (text.includes('\0')) throw new UciSyntaxError(1, 'NUL character');
  }

  error(message: string): UciSyntaxError {
    return new UciSyntaxError(this.#line, message);
  }

  /** The next command's word; undefined at the end. Skips blank lines, comments and the `;` between commands. */
  command(): string | undefined {
    for (;;) {
      const char = this.#text[this.#at];
      if (char === undefined) return undefined;
      if (char === '#') this.#skipLine();
      else if (isSpace(char) || char === ';') this.#advance();
      else break;
    }
    const start = this.#at;
    while (this.#text[this.#at] !== undefined && !isSpace(this.#text[this.#at])) this.#at += 1;
    return this.#text.slice(start, this.#at);
  }

  /** The arguments up to the end of the command. @throws UciSyntaxError when there are too few or too many */
  arguments(min: number, max: number): string[] {
    const found: string[] = [];
    while (this.#skipBlanks()) found.push(this.#argument());
    if (found.length < min || (min > 0 && found[0] === ''))
      throw this.error('insufficient arguments');
    if (found.length > max) throw this.error('too many arguments');
    return found;
  }

  /** To the next argument of this command; false when there is none. */
  #skipBlanks(): boolean {
    for (;;) {
      const char = this.#text[this.#at];
      if (char === undefined || char === '\n' || char === ';') return false;
      if (char === '#') {
        this.#skipLine();
        return false;
      }
      if (!isSpace(char)) return true;
      this.#at += 1;
    }
  }

  /** Bare, quoted and escaped parts that touch are one argument. */
  #argument(): string {
    let value = '';
    for (;;) {
      const char = this.#text[this.#at];
      if (char === undefined || isSpace(char) || char === '#' || char === ';') return value;
      if (char === "'") value += this.#literal();
      else if (char === '"') value += this.#quoted();
      else if (char === '\\') value += this.#escaped();
      else value += this.#advance();
    }
  }

  /** Between single quotes everything stands for itself. Nearly all values are such, so this is the fast way. */
  #literal(): string {
    const end = this.#text.indexOf("'", this.#at + 1);
    if (end < 0) throw this.error("unterminated '");
    const value = this.#text.slice(this.#at + 1, end);
    if (value.includes('\n')) this.#line += value.split('\n').length - 1;
    this.#at = end + 1;
    return value;
  }

  #quoted(): string {
    const openedAt = this.#line;
    this.#at += 1;
    let value = '';
    for (;;) {
      const char = this.#text[this.#at];
      if (char === undefined) throw new UciSyntaxError(openedAt, 'unterminated "');
      if (char === '"') {
        this.#at += 1;
        return value;
      }
      value += char === '\\' ? this.#escaped() : this.#advance();
    }
  }

  /** What a backslash stands for: the next character, or nothing when it joins two lines. */
  #escaped(): string {
    this.#at += 1;
    if (this.#text.startsWith('\r\n', this.#at)) this.#at += 1;
    if (this.#at >= this.#text.length) return '';
    const char = this.#advance();
    return char === '\n' ? '' : char;
  }

  #advance(): string {
    const char = this.#text[this.#at] ?? '';
    if (char === '\n') this.#line += 1;
    this.#at += 1;
    return char;
  }

  #skipLine(): void {
    const end = this.#text.indexOf('\n', this.#at);
    this.#at = end < 0 ? this.#text.length : end;
  }
}
