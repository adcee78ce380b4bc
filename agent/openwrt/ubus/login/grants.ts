/** Pieces of an rpcd ACL: each part of the agent says what it calls; `acl.ts` joins them. */

/** Name -> what is allowed: methods of a ubus object; `read`, `write`, `list`, `exec` of paths. */
type Granted = Readonly<Record<string, readonly string[]>>;
type Side = { ubus?: Granted; file?: Granted; uci?: readonly string[] };

export type Grants = { read?: Side; write?: Side };

export const granted = (names: readonly string[], what: readonly string[]): Granted =>
  Object.fromEntries(names.map((name) => [name, what]));

export const executable = (commands: readonly string[]): Granted => granted(commands, ['exec']);

export const mergeGrants = (all: readonly Grants[]): Grants => ({
  read: mergeSides(all.map(({ read }) => read ?? {})),
  write: mergeSides(all.map(({ write }) => write ?? {})),
});

const mergeSides = (sides: readonly Side[]): Side => {
  const uci = unique(sides.flatMap((side) => side.uci ?? []));
  return {
    ubus: union(sides.map(({ ubus }) => ubus ?? {})),
    ...(uci.length > 0 && { uci }),
    file: union(sides.map(({ file }) => file ?? {})),
  };
};

const union = (all: readonly Granted[]): Granted => {
  const merged = new Map<string, readonly string[]>();
  for (const [name, what] of all.flatMap((each) => Object.entries(each))) {
    merged.set(name, unique([...(merged.get(name) ?? []), ...what]));
  }
  return Object.fromEntries(merged);
};

const unique = (items: readonly string[]): string[] => [...new Set(items)];
