/** Words of a rule, one after the other. */
import type { Item, Word } from './words.ts';

/** Thrown where a word comes that firewall4 does not write there. */
export class NotUnderstood extends Error {
  override name = 'NotUnderstood';
}

export class Reader {
  readonly #words: readonly Word[];
  #at = 0;

  constructor(words: readonly Word[]) {
    this.#words = words;
  }

  get isAtEnd(): boolean {
    return this.#at >= this.#words.length;
  }

  /** @throws NotUnderstood at the end */
  next(): Word {
    const word = this.#words[this.#at];
    if (!word) throw new NotUnderstood('the rule ends too early');
    this.#at += 1;
    return word;
  }

  /** Takes them where they come next, in this order. */
  takes(...texts: readonly string[]): boolean {
    const isNext = texts.every((text, offset) => {
      const word = this.#words[this.#at + offset];
      return word?.quoted === false && !word.items && word.text === text;
    });
    if (isNext) this.#at += texts.length;
    return isNext;
  }

  /** The one of these that comes next. */
  takesOneOf<T extends string>(...texts: readonly T[]): T | undefined {
    return texts.find((text) => this.takes(text));
  }

  /** What is compared with: one, or those of a set. @throws NotUnderstood for a set elsewhere */
  operand(): { items: readonly Item[]; negated: boolean } {
    const negated = this.takes('!=');
    if (!negated) this.takes('==');
    const word = this.next();
    if (word.text.startsWith('@') && !word.quoted) throw new NotUnderstood(`the set ${word.text}`);
    return { items: word.items ?? [[word]], negated };
  }
}

/** @throws NotUnderstood */
export const understood = <T>(value: T | undefined, what: string): T => {
  if (value === undefined) throw new NotUnderstood(what);
  return value;
};
