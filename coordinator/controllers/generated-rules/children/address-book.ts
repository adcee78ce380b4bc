/**
 * The addresses of host names, asked again when an answer has run out. A name that cannot be looked up keeps its last addresses: an
 * unavailable DNS server must not take a service away.
 */
import { isIP } from 'node:net';
import { createBackoff, type Backoff } from '#shared/runtime/backoff.ts';
import type { Clock } from '#shared/runtime/clock.ts';
import { messageOf } from '#shared/runtime/errors.ts';
import { Recent } from '#shared/util/recent.ts';
import type { Family, Lookup } from './lookup.ts';

export type Entry = {
  /** The last that are known; undefined when none ever were. */
  addresses: readonly string[] | undefined;
  /** The family of which nothing was ever answered: whether the name has addresses of it is not known. */
  unknown: Family | undefined;
  /** Why the last question has no answer. */
  problem: string | undefined;
  /** Milliseconds until it has to be asked again. */
  againInMs: number;
};

export type AddressBookOptions = {
  lookup: Lookup;
  /** Bounds of how long an answer is taken to hold, whatever its TTL is. */
  minTtlMs: number;
  maxTtlMs: number;
  clock: Clock;
};

type Known = Omit<Entry, 'againInMs'> & {
  expiresAt: number;
  backoff: Backoff;
  asking: Promise<void> | undefined;
};

const RETRY = { baseMs: 2_000, maxMs: 60_000 };
/** Names that nobody asks for are forgotten when there are more than this. */
const MAX_NAMES = 4_096;

export class AddressBook {
  readonly #options: AddressBookOptions;
  readonly #known = new Recent<Known>({ most: MAX_NAMES });

  constructor(options: AddressBookOptions) {
    this.#options = options;
  }

  /** @throws only the reason of `signal` */
  async get(name: string, signal: AbortSignal): Promise<Entry> {
    const { clock } = this.#options;
    const known = this.#entry(name);
    if (known.expiresAt <= clock.monotonic()) {
      known.asking ??= this.#ask(name, known, signal).finally(() => {
        known.asking = undefined;
      });
      await known.asking;
      signal.throwIfAborted();
    }
    const { addresses, unknown, problem, expiresAt } = known;
    return { addresses, unknown, problem, againInMs: Math.max(0, expiresAt - clock.monotonic()) };
  }

  #entry(name: string): Known {
    const known = this.#known.get(name) ?? {
      addresses: undefined,
      unknown: undefined,
      problem: undefined,
      expiresAt: -Infinity,
      backoff: createBackoff(RETRY),
      asking: undefined,
    };
    this.#known.set(name, known);
    return known;
  }

  async #ask(name: string, known: Known, signal: AbortSignal): Promise<void> {
    const { clock, lookup, maxTtlMs, minTtlMs } = this.#options;
    let holdsMs: number;
    try {
      const { addresses, ttlSeconds, unanswered } = await lookup(name, signal);
      const kept = (known.addresses ?? []).filter((address) => isIP(address) === unanswered);
      // What was answered once is known, also when it was that there is none.
      const isNew = known.addresses === undefined || known.unknown === unanswered;
      known.unknown = isNew ? unanswered : undefined;
      known.addresses = [...addresses, ...kept];
      known.problem = undefined;
      known.backoff.reset();
      holdsMs = Math.min(maxTtlMs, Math.max(minTtlMs, ttlSeconds * 1_000));
    } catch (error) {
      known.problem = messageOf(error);
      holdsMs = known.backoff.next();
    }
    known.expiresAt = clock.monotonic() + holdsMs;
  }
}
