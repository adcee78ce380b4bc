import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { abandonable } from './abandon.ts';

beforeEach(() => {
  vi.useFakeTimers();
});
afterEach(() => {
  vi.useRealTimers();
});

describe('work that can be given up', () => {
  const endless = () => {
    let cut: AbortSignal | undefined;
    const work = (signal: AbortSignal): Promise<never> => {
      cut = signal;
      return new Promise(() => {});
    };
    return { work, isCut: () => cut?.aborted };
  };

  it('returns its result', async () => {
    const { signal } = new AbortController();
    expect(await abandonable(signal, async () => 1)).toBe(1);
    const failed = abandonable(signal, () => Promise.reject(new Error('refused')));
    await expect(failed).rejects.toThrow('refused');
  });

  it('goes on for a while after nobody waits for it any more', async () => {
    const controller = new AbortController();
    const { work, isCut } = endless();
    const waiting = abandonable(controller.signal, work);
    controller.abort(new Error('stop'));
    await expect(waiting).rejects.toThrow('stop');
    vi.advanceTimersByTime(60_000);
    expect(isCut()).toBe(false);
    vi.advanceTimersByTime(20_000);
    expect(isCut()).toBe(true);
  });

  it('does not begin after the signal', async () => {
    const { work, isCut } = endless();
    await expect(abandonable(AbortSignal.abort(new Error('stop')), work)).rejects.toThrow('stop');
    expect(isCut()).toBeUndefined();
  });
});
