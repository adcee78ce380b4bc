/** The beginning of a text from elsewhere, for what stays in memory. */

const copyOf = (text: string): string => Buffer.from(text, 'utf16le').toString('utf16le');

/**
 * At most `most` UTF-16 units of it, as a text of its own: V8's `slice` of more than 12 characters
 * only points into the whole, which then stays in memory for as long (measured: 200 kB for each 256
 * characters of an annotation).
 */
export const shortened = <T extends string | undefined>(text: T, most: number): T | string =>
  text === undefined || text.length <= most ? text : copyOf(text.slice(0, most));
