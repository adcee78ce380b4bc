/**
 * The addresses of host names, asked again when an answer has run out. A name that cannot be looked
 * up keeps its last addresses: an unavailable DNS server must not take a service away. Nothing
 * waits for a look-up, and each namespace has its own: names without an answer hold up no other
 * namespace.
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

type Known = Omit<Entry, 'againInMs'> & {
  expiresAt: number;
  backoff: Backoff;
  asking: Promise<void> | undefined;
};

type Asker = {
  namespace: string;
  /** There is an answer, or none could be had: `get` says what is known now. */
  onAnswer: () => void;
  signal: AbortSignal;
};

const RETRY = { baseMs: 2_000, maxMs: 60_000 };
/** Names that no rule asks for are forgotten when there are more than this. */
const MAX_NAMES = 4_096;
/** Look-ups of a namespace at a time. */
const MAX_LOOKUPS = 8;

export class AddressBook {
  readonly #options: AddressBookOptions;
  readonly #known = new Recent<Known>({ most: MAX_NAMES });
  /** By namespace: those that wait for others to end. */
  readonly #lanes = new Map<string, { running: number; waiting: (() => void)[] }>();

  constructor(options: AddressBookOptions) {
    this.#options = options;
  }

  /** What is known, and has it asked where that has run out; undefined: nothing yet. */
  get(name: string, { namespace, onAnswer, signal }: Asker): Entry | undefined {
    const key = `${namespace}/${name}`;
    const known = this.#entry(key);
    const leftMs = known.expiresAt - this.#options.clock.monotonic();
    if (leftMs <= 0) {
      known.asking ??= this.#inTurn(namespace, () => this.#ask(name, known, signal)).finally(() => {
        known.asking = undefined;
        // However many names were asked for meanwhile.
        this.#known.set(key, known);
      });
      void known.asking.then(onAnswer);
    }
    if (known.expiresAt === -Infinity) return undefined;
    const { addresses, unknown, problem } = known;
    return { addresses, unknown, problem, againInMs: leftMs > 0 ? leftMs : Infinity };
  }

  async #inTurn(namespace: string, look: () => Promise<void>): Promise<void> {
    const lane = this.#lanes.getOrInsertComputed(namespace, () => ({ running: 0, waiting: [] }));
    if (lane.running < MAX_LOOKUPS) lane.running += 1;
    else await new Promise<void>((begin) => lane.waiting.push(begin));
    await look();
    const begin = lane.waiting.shift();
    if (begin) begin();
    else lane.running -= 1;
    if (lane.running === 0) this.#lanes.delete(namespace);
  }

  #entry(key: string): Known {
    const known = this.#known.get(key) ?? {
      addresses: undefined,
      unknown: undefined,
      problem: undefined,
      expiresAt: -Infinity,
      backoff: createBackoff(RETRY),
      asking: undefined,
    };
    this.#known.set(key, known);
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
      if (signal.aborted) return;
      known.problem = messageOf(error);
      holdsMs = known.backoff.next();
    }
    known.expiresAt = clock.monotonic() + holdsMs;
  }
}
