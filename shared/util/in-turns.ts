/** The first of each group, then the second of each, and so on: a large group delays no other. */
export const inTurns = <T>(items: readonly T[], groupOf: (item: T) => string): readonly T[] => {
  const groups = [...Map.groupBy(items, groupOf).values()];
  const most = Math.max(0, ...groups.map(({ length }) => length));
  return Array.from({ length: most }, (_, round) =>
    groups.flatMap((group) => group.slice(round, round + 1)),
  ).flat();
};
