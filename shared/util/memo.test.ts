import { describe, expect, it, vi } from 'vitest';
import { oncePerObject } from './memo.ts';

describe('oncePerObject', () => {
  it('computes once for each object, also when nothing comes of it', () => {
    const compute = vi.fn<(key: { id: number }) => undefined>(() => undefined);
    const once = oncePerObject(compute);
    const key = { id: 1 };
    once(key);
    once(key);
    once({ id: 1 });
    expect(compute).toHaveBeenCalledTimes(2);
  });

  it('throws again what it threw', () => {
    const once = oncePerObject((_key: object): never => {
      throw new Error('no');
    });
    const key = {};
    expect(() => once(key)).toThrow('no');
    expect(() => once(key)).toThrow('no');
  });
});
