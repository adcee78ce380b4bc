/**
 * The tokens of UCI's two text formats, config files and delta files: words with shell-like quoting
 * that may run over several lines. Owns the position in the text, counted as libuci's error
 * messages count it.
 */
import { UciParseError } from './errors.ts';

export class LineReader {
  readonly #text: string;
  #next = 0;
  #line = 0;
  /** The current line; grows by the following ones while a quote is open. */
  #buffer = '';
  #position = 0;

  constructor(text: string) {
    this.#text = text;
  }

  /** Goes to the next line. False at the end of the text. */
  nextLine(): boolean {
    this.#buffer = '';
    this.#position = 0;
    return this.#readMore();
  }

  /**
   * The next line, and those that it runs on to, if all of it matches `pattern`, which is sticky.
   * Else nothing is read.
   */
  lineMatching(pattern: RegExp): RegExpExecArray | undefined {
    pattern.lastIndex = this.#next;
    const match = pattern.exec(this.#text);
    if (!match) return undefined;
    this.#next = pattern.lastIndex;
    this.#line += 1;
    return match;
  }

  /**
   * The first word of a command: up to a blank or tab, quotes not looked at. Undefined at the end
   * of the line. Behind another command of the line libuci skips blanks and tabs alone.
   */
  commandWord(): string | undefined {
    if (this.#position === 0) this.#skipWhitespace();
    else while (this.#current === ' ' || this.#current === '\t') this.#position += 1;
    const start = this.#position;
    if (start >= this.#buffer.length) return undefined;
    let end = start;
    while (end < this.#buffer.length && this.#buffer[end] !== ' ' && this.#buffer[end] !== '\t')
      end += 1;
    this.#position = end < this.#buffer.length ? end + 1 : end;
    return this.#buffer.slice(start, end);
  }

  /** The next argument, '' when there is none. A `;` ends the arguments of a command. */
  argument(): string {
    this.#skipWhitespace();
    if (this.#current === ';') {
      this.#position += 1;
      return '';
    }
    return this.#word();
  }

  /** Whether nothing follows on this line. */
  get atEnd(): boolean {
    return this.#position >= this.#buffer.length;
  }

  /** @throws UciParseError always, with the place reached. */
  fail(reason: string): never {
    throw new UciParseError(reason, { line: this.#line, byte: this.#position });
  }

  get #current(): string {
    return this.#buffer[this.#position] ?? '';
  }

  #readMore(): boolean {
    if (this.#next >= this.#text.length) return false;
    const newline = this.#text.indexOf('\n', this.#next);
    const end = newline < 0 ? this.#text.length : newline + 1;
    this.#buffer += this.#text.slice(this.#next, end);
    this.#next = end;
    if (newline >= 0) this.#line += 1;
    return true;
  }

  #skipWhitespace(): void {
    while (isSpace(this.#current)) this.#position += 1;
  }

  #word(): string {
    const begin = this.#position;
    let word = '';
    for (;;) {
      const character = this.#current;
      if (character === '' || isSpace(character)) break;
      if (character === ';') {
        // libuci ends a word in its buffer: in the place of the `;`, unless quotes have made the
        // word shorter than its text.
        if (this.#position - begin === word.length) this.#position = this.#buffer.length;
        return word;
      }
      if (character === '#') {
        this.#position = this.#buffer.length;
        return word;
      }
      word += this.#piece(character);
    }
    if (!this.atEnd) this.#position += 1;
    return word;
  }

  #piece(character: string): string {
    if (character === "'") return this.#singleQuoted();
    if (character === '"') return this.#doubleQuoted();
    if (character === '\\') return this.#escaped();
    const start = this.#position;
    do this.#position += 1;
    while (!this.atEnd && !endsPlainText(this.#current));
    return this.#buffer.slice(start, this.#position);
  }

  #singleQuoted(): string {
    const start = this.#position + 1;
    for (;;) {
      const end = this.#buffer.indexOf("'", Math.max(start, this.#position));
      if (end >= 0) {
        this.#position = end + 1;
        return this.#buffer.slice(start, end);
      }
      this.#position = this.#buffer.length;
      if (!this.#readMore()) this.fail("EOF with unterminated '");
    }
  }

  #doubleQuoted(): string {
    let word = '';
    this.#position += 1;
    for (;;) {
      if (this.atEnd && !this.#readMore()) this.fail('EOF with unterminated "');
      const character = this.#current;
      if (character === '\\') {
        word += this.#escaped();
        continue;
      }
      this.#position += 1;
      if (character === '"') return word;
      word += character;
    }
  }

  /** A backslash takes the next character as it is; at the end of a line it joins the next line. */
  #escaped(): string {
    this.#position += 1;
    if (this.atEnd || this.#current === '\n') {
      this.#buffer = this.#buffer.slice(0, this.#position);
      this.#readMore();
      return '';
    }
    const character = this.#current;
    this.#position += 1;
    return character;
  }
}

const isSpace = (character: string): boolean =>
  character === ' ' ||
  character === '\t' ||
  character === '\n' ||
  character === '\r' ||
  character === '\v' ||
  character === '\f';

const endsPlainText = (character: string): boolean =>
  isSpace(character) || `'"\\;#`.includes(character);
