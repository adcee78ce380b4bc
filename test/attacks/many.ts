/** Objects of an attack, as many at a time as tenants write, and few enough for the API server. */
const AT_ONCE = 10;

/** `make` gets 0 to `count` - 1. In that order. */
export const makeMany = async <T>(
  count: number,
  make: (at: number) => Promise<T>,
): Promise<T[]> => {
  const made: T[] = [];
  while (made.length < count) {
    const some = Math.min(AT_ONCE, count - made.length);
    made.push(
      ...(await Promise.all(Array.from({ length: some }, (_, index) => make(made.length + index)))),
    );
  }
  return made;
};
