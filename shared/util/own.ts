/**
 * What a table has under a name that is not of our choice. Names such as `toString` and
 * `constructor` are in every object of JavaScript, whether the table has them or not.
 */
export const own = <T>(table: Readonly<Record<string, T>>, name: string): T | undefined =>
  Object.hasOwn(table, name) ? table[name] : undefined;
