/** `compute`, done once for each object and forgotten with it. For objects that nobody changes, such as what a watch has stored. */
export const oncePerObject = <Key extends object, Result>(
  compute: (key: Key) => Result,
): ((key: Key) => Result) => {
  const known = new WeakMap<Key, { result: Result }>();
  return (key) => {
    const before = known.get(key);
    if (before) return before.result;
    const result = compute(key);
    known.set(key, { result });
    return result;
  };
};

/** `compute`, done once for each combination of names, none of which has a slash. */
export const oncePerNames = <Names extends readonly string[], Result>(
  compute: (...names: Names) => Result,
): ((...names: Names) => Result) => {
  const known = new Map<string, { result: Result }>();
  return (...names) => {
    const key = names.join('/');
    const entry = known.get(key) ?? { result: compute(...names) };
    known.set(key, entry);
    return entry.result;
  };
};
