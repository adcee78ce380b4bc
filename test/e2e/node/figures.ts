/** What the tests measure on the way, printed for people. */
export const figure = (what: string, ms: number): void => {
  console.log(`measured: ${what}: ${(ms / 1000).toFixed(1)} s`);
};

/** The result, with the time that it took printed. */
export const measured = async <T>(what: string, work: () => Promise<T>): Promise<T> => {
  const startedAt = Date.now();
  const result = await work();
  figure(what, Date.now() - startedAt);
  return result;
};
