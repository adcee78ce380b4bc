/**
 * Answers to questions, kept by key, and asked for again when they have run out. Nothing waits for
 * one: it leads to another look of all that have asked for it.
 */
import { Recent } from '../util/recent.ts';
import { createBackoff, type Backoff, type BackoffOptions } from './backoff.ts';
import type { Clock } from './clock.ts';

export type AnswersOptions = {
  clock: Pick<Clock, 'monotonic'>;
  /** The most that are kept; the one that has not been asked for longest goes. */
  most: number;
  /** Between a question that failed and the next one. */
  retry: BackoffOptions;
};

export type Question<A> = {
  /**
   * `before`: the last answer. `holdsMs`: how long this one holds; undefined: the question failed,
   * and the answer is what is known nevertheless. Throws nothing.
   */
  ask: (before: A | undefined) => Promise<{ answer: A; holdsMs: number | undefined }>;
  /** There is an answer, or none could be had: `get` says what is known now. */
  onAnswer: () => void;
  /** Ends with the work that asks: a question that fails because of that has no answer. */
  signal: AbortSignal;
};

type Known<A> = {
  answer: A | undefined;
  expiresAt: number;
  backoff: Backoff;
  asking: Promise<void> | undefined;
};

export class Answers<A> {
  readonly #options: AnswersOptions;
  readonly #known: Recent<Known<A>>;

  constructor(options: AnswersOptions) {
    this.#options = options;
    this.#known = new Recent({ most: options.most });
  }

  /**
   * What is known, and has it asked where that has run out. `answer` undefined: nothing yet.
   * `againInMs`: milliseconds until it has to be asked again; Infinity while it is being asked.
   */
  get(
    key: string,
    { onAnswer, ...question }: Question<A>,
  ): { answer: A | undefined; againInMs: number } {
    const known = this.#entry(key);
    const { answer, expiresAt } = known;
    const leftMs = expiresAt - this.#options.clock.monotonic();
    if (leftMs > 0) return { answer, againInMs: leftMs };
    known.asking ??= this.#ask(known, question).finally(() => {
      known.asking = undefined;
      // However much was asked for meanwhile.
      this.#known.set(key, known);
    });
    void known.asking.then(onAnswer);
    return { answer, againInMs: Infinity };
  }

  #entry(key: string): Known<A> {
    const known = this.#known.get(key) ?? {
      answer: undefined,
      expiresAt: -Infinity,
      backoff: createBackoff(this.#options.retry),
      asking: undefined,
    };
    this.#known.set(key, known);
    return known;
  }

  async #ask(known: Known<A>, { ask, signal }: Omit<Question<A>, 'onAnswer'>): Promise<void> {
    const { answer, holdsMs } = await ask(known.answer);
    if (holdsMs === undefined && signal.aborted) return;
    known.answer = answer;
    if (holdsMs !== undefined) known.backoff.reset();
    known.expiresAt = this.#options.clock.monotonic() + (holdsMs ?? known.backoff.next());
  }
}
