/**
 * Works on each item, in their order, at most `most` at a time. After the first that fails none is
 * begun; what is under way is waited for.
 * @throws what the first failure has thrown
 */
export const atOnce = async <T>(
  items: readonly T[],
  most: number,
  work: (item: T) => Promise<unknown>,
): Promise<void> => {
  const left = items.values();
  const failures: unknown[] = [];
  const worker = async (): Promise<void> => {
    // The workers share what is left.
    for (const item of left) {
      await work(item).catch((error: unknown) => failures.push(error));
      if (failures.length > 0) return;
    }
  };
  await Promise.all(Array.from({ length: Math.min(most, items.length) }, worker));
  if (failures.length > 0) throw failures[0];
};
