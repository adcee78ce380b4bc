/** JSON from outside of the program. */

/** Undefined for what is none. The parser's message is dropped: it quotes the text (secrets). */
export const jsonIn = (text: string): unknown => {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
};

/** What a token says of itself, which nothing has verified; undefined where that cannot be read. */
export const claimsIn = (token: string): unknown =>
  jsonIn(Buffer.from(token.split('.')[1] ?? '', 'base64url').toString('utf8'));
