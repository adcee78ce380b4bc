/** What a seed decides. */
import { createRandom, type Random as Numbers } from '../../run/random.ts';

export class Random {
  readonly #numbers: Numbers;

  constructor(seed: number) {
    this.#numbers = createRandom(seed);
  }

  /** From `low` to `high`, both of which can come. */
  between(low: number, high: number): number {
    return low + this.#numbers.int(high - low + 1);
  }

  chance(share: number): boolean {
    return this.#numbers.next() < share;
  }

  of<T>(items: readonly T[]): T {
    return this.#numbers.pick(items);
  }

  some<T>(items: readonly T[], low: number, high: number): T[] {
    return Array.from({ length: this.between(low, high) }, () => this.of(items));
  }
}
