/** UCI as the agent sees it: packages of sections in file order. A section without a name is anonymous. */

/** A scalar option, or a list option in order. UCI stores text only. */
export type UciValue = string | readonly string[];

export type UciSection = {
  /** `[A-Za-z0-9_]+`. For an anonymous section the id that the source gave it (`cfgXXYYYY`), valid for one reading. */
  readonly name: string;
  readonly anonymous: boolean;
  readonly type: string;
  /** In file order; two sections are equal when type, options and list order are, whatever the order of options. */
  readonly options: Readonly<Record<string, UciValue>>;
};

/** One file of /etc/config, sections in file order. */
export type UciPackage = {
  readonly name: string;
  readonly sections: readonly UciSection[];
};

/**
 * How one package is brought to what is wanted, foreign sections untouched. Applied in this order:
 * `remove`, then `set` (in place: the option text is replaced, the place in the file stays), then `append`
 * (new sections at the end of the file, in order; a name that `remove` holds too is one that has to move).
 */
export type UciDelta = {
  readonly package: string;
  readonly remove: readonly string[];
  readonly set: readonly UciSection[];
  readonly append: readonly UciSection[];
};
