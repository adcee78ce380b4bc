/**
 * The addresses of host names. A name that cannot be looked up keeps its last addresses: an
 * unavailable DNS server must not take a service away. Each namespace has its own look-ups: names
 * without an answer hold up no other namespace.
 */
import { isIP } from 'node:net';
import { Answers, type Question } from '#shared/runtime/answers.ts';
import type { Clock } from '#shared/runtime/clock.ts';
import { messageOf } from '#shared/runtime/errors.ts';
import type { Family, Lookup } from './dns-lookup.ts';

export type Entry = {
  /** The last that are known; undefined when none ever were. */
  addresses: readonly string[] | undefined;
  /** The family without any answer so far: whether the name has addresses of it is not known. */
  unknown: Family | undefined;
  /** Why the last question has no answer. */
  problem: string | undefined;
  /** Milliseconds until it has to be asked again; Infinity while it is being asked. */
  againInMs: number;
};

export type AddressBookOptions = {
  lookup: Lookup;
  /** Bounds of how long an answer is taken to hold, whatever its TTL is. */
  minTtlMs: number;
  maxTtlMs: number;
  clock: Clock;
};

type Known = Omit<Entry, 'againInMs'>;

type Asker = { namespace: string } & Pick<Question<Known>, 'onAnswer' | 'signal'>;

const RETRY = { baseMs: 2_000, maxMs: 60_000 };
/** Names that no rule asks for are forgotten when there are more than this. */
const MAX_NAMES = 4_096;
/** Look-ups of a namespace at a time. */
const MAX_LOOKUPS = 8;

export class AddressBook {
  readonly #options: AddressBookOptions;
  readonly #answers: Answers<Known>;
  /** By namespace: those that wait for others to end. */
  readonly #lanes = new Map<string, { running: number; waiting: (() => void)[] }>();

  constructor(options: AddressBookOptions) {
    this.#options = options;
    this.#answers = new Answers({ clock: options.clock, most: MAX_NAMES, retry: RETRY });
  }

  /** What is known, and has it asked where that has run out; undefined: nothing yet. */
  get(name: string, { namespace, ...by }: Asker): Entry | undefined {
    const { answer, againInMs } = this.#answers.get(`${namespace}/${name}`, {
      ...by,
      ask: (before) => this.#inTurn(namespace, () => this.#ask(name, by.signal, before)),
    });
    return answer && { ...answer, againInMs };
  }

  async #inTurn<T>(namespace: string, look: () => Promise<T>): Promise<T> {
    const lane = this.#lanes.getOrInsertComputed(namespace, () => ({ running: 0, waiting: [] }));
    if (lane.running < MAX_LOOKUPS) lane.running += 1;
    else await new Promise<void>((begin) => lane.waiting.push(begin));
    const found = await look();
    const begin = lane.waiting.shift();
    if (begin) begin();
    else lane.running -= 1;
    if (lane.running === 0) this.#lanes.delete(namespace);
    return found;
  }

  async #ask(
    name: string,
    signal: AbortSignal,
    before: Known = { addresses: undefined, unknown: undefined, problem: undefined },
  ): Promise<{ answer: Known; holdsMs: number | undefined }> {
    const { lookup, maxTtlMs, minTtlMs } = this.#options;
    try {
      const { addresses, ttlSeconds, unanswered } = await lookup(name, signal);
      const kept = (before.addresses ?? []).filter((address) => isIP(address) === unanswered);
      // What was answered once is known, also when it was that there is none.
      const isNew = before.addresses === undefined || before.unknown === unanswered;
      return {
        answer: {
          addresses: [...addresses, ...kept],
          unknown: isNew ? unanswered : undefined,
          problem: undefined,
        },
        holdsMs: Math.min(maxTtlMs, Math.max(minTtlMs, ttlSeconds * 1_000)),
      };
    } catch (error) {
      return { answer: { ...before, problem: messageOf(error) }, holdsMs: undefined };
    }
  }
}
