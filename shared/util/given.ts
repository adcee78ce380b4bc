/** What of it is set: node:tls and others take `undefined` for a value. */
export const given = <T extends object>(fields: T): Partial<T> => {
  const set: Partial<T> = {};
  return Object.assign(
    set,
    Object.fromEntries(Object.entries(fields).filter(([, value]) => value !== undefined)),
  );
};
