/** As many as API clients usually have under way. */
const WORKERS = 16;

/** Works on each item, sixteen at a time. */
export const atOnce = async <T>(
  items: readonly T[],
  work: (item: T) => Promise<unknown>,
): Promise<void> => {
  const left = [...items];
  const worker = async (): Promise<void> => {
    for (let next = left.shift(); next !== undefined; next = left.shift()) await work(next);
  };
  await Promise.all(Array.from({ length: WORKERS }, worker));
};
