/** What libuci refuses, by the kinds that rpcd tells apart in its answers. */
export type UciErrorKind = 'invalid' | 'not found' | 'parse' | 'io';

export class UciError extends Error {
  override name = 'UciError';
  readonly kind: UciErrorKind;
  constructor(kind: UciErrorKind, message: string) {
    super(message);
    this.kind = kind;
  }
}

/**
 * Syntax error of a config file, in the words of the `uci` command. `line` and `byte` count as
 * libuci counts them.
 */
export class UciParseError extends UciError {
  override name = 'UciParseError';
  constructor(reason: string, at: { line: number; byte: number }) {
    super('parse', `Parse error (${reason}) at line ${at.line}, byte ${at.byte}`);
  }
}
