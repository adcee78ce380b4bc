/**
 * Reads the text of a file of /etc/config as libuci does (file.c of libuci, strict mode): what
 * libuci refuses is refused here, what it accepts gives the same sections, anonymous names
 * included.
 */
import type { UciPackage, UciSection, UciValue } from './model.ts';
import { isUciName } from './names.ts';
import { own } from '../util/own.ts';

/** The text is no UCI; OpenWRT could not load it either. */
export class UciSyntaxError extends Error {
  override name = 'UciSyntaxError';
  readonly line: number;
  constructor(line: number, message: string) {
    super(`line ${line}: ${message}`);
    this.line = line;
  }
}

/** What a file holds, and whether it has comments, which UCI does not keep when it writes. */
export type ParsedFile = { content: UciPackage; hasComments: boolean };

/** @throws UciSyntaxError */
export const parseFile = (name: string, text: string): ParsedFile => {
  const builder = new PackageBuilder();
  const scanner = new Scanner(text);
  for (let word = scanner.command(); word !== undefined; word = scanner.command()) {
    runCommand(word, scanner, builder);
  }
  return { content: { name, sections: builder.sections }, hasComments: scanner.hasComments };
};

/** @throws UciSyntaxError */
export const parsePackage = (name: string, text: string): UciPackage =>
  parseFile(name, text).content;

/** libuci's id of an anonymous section: its place in the file, from one, and a hash of its type. */
export const anonymousName = (place: number, type: string): string => {
  let hash = 5381; // djb2, as libuci computes it on unsigned 32 bit
  for (const byte of new TextEncoder().encode(type)) hash = (hash * 33 + byte) >>> 0;
  const suffix = (hash & 0x7fff_ffff) % 0x1_0000;
  return `cfg${place.toString(16).padStart(2, '0')}${suffix.toString(16).padStart(4, '0')}`;
};

const runCommand = (word: string, scanner: Scanner, builder: PackageBuilder): void => {
  const command = own(SHORT_FORMS, word) ?? word;
  if (command === 'config') openSection(scanner, builder);
  else if (command === 'option' || command === 'list') addOption(command, scanner, builder);
  else if (command === 'package') checkPackage(scanner);
  else throw scanner.error('invalid command');
};

const SHORT_FORMS: Readonly<Record<string, string>> = {
  c: 'config',
  o: 'option',
  l: 'list',
  p: 'package',
};

/** The file's name decides; libuci ignores the statement when it loads a single package. */
const checkPackage = (scanner: Scanner): void => {
  const [name = ''] = scanner.arguments(1);
  if (!/^[A-Za-z0-9_-]+$/.test(name)) throw scanner.error('invalid character in name field');
};

const openSection = (scanner: Scanner, builder: PackageBuilder): void => {
  const [type = '', name = ''] = scanner.arguments(2);
  if (!/^[\x21-\x7e]+$/.test(type)) throw scanner.error('invalid character in type field');
  if (name !== '' && !isUciName(name)) throw scanner.error('invalid character in name field');
  if (!builder.section(type, name)) {
    throw scanner.error('section of different type overwrites prior section with same name');
  }
};

const addOption = (command: 'option' | 'list', scanner: Scanner, builder: PackageBuilder): void => {
  const [option = '', value = ''] = scanner.arguments(2);
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

  /** False when a section has that name and another type. The same type adds to the first. */
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

  /** False when there is no section yet. An option without a value is none, and changes none. */
  add(option: string, value: string, isList: boolean): boolean {
    const options = this.#current?.options;
    if (!options) return false;
    const known = options.get(option);
    if (isList) {
      const items = known === undefined ? [] : typeof known === 'string' ? [known] : known;
      options.set(option, [...items, value]);
    } else if (value !== '') {
      options.set(option, value);
    }
    return true;
  }

  get sections(): UciSection[] {
    return this.#drafts.map((draft) => ({ ...draft, options: Object.fromEntries(draft.options) }));
  }
}

/** What C's isspace() takes. */
const SPACE = ' \t\n\v\f\r';

/**
 * Follows libuci's reading step by step: a line is commands with their arguments, and quotes and
 * backslashes join lines.
 */
class Scanner {
  readonly #text: string;
  #at = 0;
  #line = 1;
  /** Where the command began that is being read. */
  #commandLine = 1;
  /** The line has no more: its newline or a comment was reached. */
  #ended = true;
  #hasComments = false;

  constructor(text: string) {
    this.#text = text;
    if (text.includes('\0')) throw new UciSyntaxError(1, 'NUL character');
  }

  /** As far as it was read. */
  get hasComments(): boolean {
    return this.#hasComments;
  }

  error(message: string): UciSyntaxError {
    return new UciSyntaxError(this.#commandLine, message);
  }

  /**
   * The next command's word, on this line or a later one; undefined at the end. Behind another
   * command only blanks are skipped.
   */
  command(): string | undefined {
    while (this.#at < this.#text.length) {
      const skipped = this.#ended ? SPACE : ' \t';
      this.#ended = false;
      while (this.#is(skipped)) this.#advance();
      if (this.#is('#')) this.#skipLine();
      else if (this.#at < this.#text.length) return this.#word();
    }
    return undefined;
  }

  #word(): string {
    this.#commandLine = this.#line;
    const start = this.#at;
    while (this.#at < this.#text.length && !this.#is(' \t\n')) this.#at += 1;
    return this.#text.slice(start, this.#at);
  }

  /**
   * `count` arguments, empty where there are fewer, but the first is not. A further one is an error
   * unless it is empty; what follows that is a command again. @throws UciSyntaxError when there are
   * too few or too many
   */
  arguments(count: 1 | 2): string[] {
    const found = Array.from({ length: count }, () => this.#argument());
    if (found[0] === '') throw this.error('insufficient arguments');
    if (this.#argument() !== '') throw this.error('too many arguments');
    return found;
  }

  /**
   * Bare, quoted and escaped parts that touch are one argument. A `;` by itself is an empty one;
   * where it ends an argument that is all bare, libuci writes the end of the argument over it, and
   * so drops the rest of the line.
   */
  #argument(): string {
    while (!this.#ended && this.#is(SPACE)) this.#ended = this.#advance() === '\n';
    if (this.#ended) return '';
    if (this.#is(';')) {
      this.#at += 1;
      return '';
    }
    let value = '';
    const start = this.#at;
    while (this.#at < this.#text.length && !this.#is(`;#${SPACE}`)) {
      if (this.#is("'")) value += this.#literal();
      else if (this.#is('"')) value += this.#quoted();
      else if (this.#is('\\')) value += this.#escaped();
      else value += this.#advance();
    }
    this.#endArgument(this.#at - start === value.length);
    return value;
  }

  #endArgument(isBare: boolean): void {
    if (this.#is('#')) this.#skipLine();
    else if (this.#is(SPACE)) this.#ended = this.#advance() === '\n';
    else if (isBare) this.#skipRest();
  }

  #is(characters: string): boolean {
    const char = this.#text[this.#at];
    return char !== undefined && characters.includes(char);
  }

  /** Between single quotes all stands for itself. Nearly all values are such: the fast way. */
  #literal(): string {
    const end = this.#text.indexOf("'", this.#at + 1);
    if (end < 0) throw new UciSyntaxError(this.#line, "unterminated '");
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
    this.#hasComments = true;
    this.#skipRest();
  }

  #skipRest(): void {
    const end = this.#text.indexOf('\n', this.#at);
    this.#at = end < 0 ? this.#text.length : end + 1;
    this.#line += 1;
    this.#ended = true;
  }
}
