/** UCI as the agent sees it: packages of sections in file order. */

/** A scalar option, or a list in order. UCI stores text only, and no scalar that is empty. */
export type UciValue = string | readonly string[];

export type UciSection = {
  /** `[A-Za-z0-9_]+`. For an anonymous section the source's id (`cfgXXYYYY`), for one reading. */
  readonly name: string;
  readonly anonymous: boolean;
  readonly type: string;
  /** In file order; two sections are equal when type, options and list order are. */
  readonly options: Readonly<Record<string, UciValue>>;
};

/** One file of /etc/config, sections in file order. */
export type UciPackage = {
  readonly name: string;
  readonly sections: readonly UciSection[];
};

/** A section that keeps its name and its place in the file; `before` is what was read. */
export type UciReplacement = { readonly before: UciSection; readonly after: UciSection };

/**
 * The changes that make one package as wanted, with the sections of others untouched. Applied in
 * this order: `remove`, then `set` (in place: every option of `before` goes, all of `after` come,
 * in `after`'s order), then `append` (new sections at the end of the file, in order; a name that
 * `remove` holds too is one that has to move).
 */
export type UciDelta = {
  readonly package: string;
  readonly remove: readonly string[];
  readonly set: readonly UciReplacement[];
  readonly append: readonly UciSection[];
};
