/**
 * How often something may be done, by key: a number at once, and then so many a second. A key that
 * has not been used for long costs nothing.
 */
import type { Clock } from './clock.ts';

export type RateOptions = {
  perSecond: number;
  atOnce: number;
  /** Keys that are remembered; the ones used longest ago are forgotten first. */
  keys?: number;
  clock: Pick<Clock, 'monotonic'>;
};

export class Rate {
  readonly #options: RateOptions;
  /** Used longest ago first. `left`: as of `at`. */
  readonly #keys = new Map<string, { left: number; at: number }>();

  constructor(options: RateOptions) {
    this.#options = options;
  }

  /** Whether it may be done now; it then counts as so many. */
  take(key = '', count = 1): boolean {
    const { atOnce, clock, keys = 10_000, perSecond } = this.#options;
    const now = clock.monotonic();
    const { left, at } = this.#keys.get(key) ?? { left: atOnce, at: now };
    const present = Math.min(atOnce, left + ((now - at) / 1_000) * perSecond);
    const may = present >= count;
    this.#keys.delete(key);
    this.#keys.set(key, { left: may ? present - count : present, at: now });
    const [oldest] = this.#keys.keys();
    if (this.#keys.size > keys && oldest !== undefined) this.#keys.delete(oldest);
    return may;
  }
}
