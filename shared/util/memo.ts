/**
 * `compute`, done once for each object and forgotten with it. For objects that do not change, such
 * as what a watch has stored.
 */
export const oncePerObject = <Key extends object, Result>(
  compute: (key: Key) => Result,
): ((key: Key) => Result) => {
  const known = new WeakMap<Key, Result>();
  return (key) => known.getOrInsertComputed(key, compute);
};

/** `compute`, done once for each combination of names, none of which has a slash. */
export const oncePerNames = <Names extends readonly string[], Result>(
  compute: (...names: Names) => Result,
): ((...names: Names) => Result) => {
  const known = new Map<string, Result>();
  return (...names) => known.getOrInsertComputed(names.join('/'), () => compute(...names));
};

/** `compute`, done once for each two objects that do not change. */
export const oncePerPair = <A extends object, B extends object, Result>(
  compute: (a: A, b: B) => Result,
): ((a: A, b: B) => Result) => {
  const ofFirst = oncePerObject((a: A) => oncePerObject((b: B) => compute(a, b)));
  return (a, b) => ofFirst(a)(b);
};
