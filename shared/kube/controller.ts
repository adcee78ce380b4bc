/**
 * What all controllers have in common. Sources mark keys, whatever happened; each marked key is
 * reconciled by itself, on the facts as they are known at that moment. Waiting until enough is
 * known and this replica leads, coalescing, backoff, figures, log and shutdown are here and nowhere
 * else.
 */
import type { Clock } from '../runtime/clock.ts';
import type { Logger } from '../runtime/log.ts';
import { WorkQueue } from '../runtime/work-queue.ts';
import { isConflict } from './errors.ts';
import type { Leadership } from './leadership.ts';

/** The outcome of reconciling a key. */
export type Outcome =
  /** Nothing is left to do until something marks the key. */
  | 'done'
  /** The key is reconciled again after that time, or earlier when something marks it. */
  | { againInMs: number }
  /**
   * The object is not as it should be, and the reason is shown to people. `failed` is a reason in
   * CamelCase, of few. The key is reconciled again after that time, or else with backoff.
   */
  | { failed: string; againInMs?: number };

/** Another client has changed what was looked at: the key is reconciled again, with backoff. */
export const OVERTAKEN = { failed: 'conflict' } as const satisfies Outcome;

/** `done` when there is no time at which to look again. */
export const againIn = (ms: number | undefined): Outcome =>
  ms === undefined || ms === Infinity ? 'done' : { againInMs: ms };

export type ControllerMetrics = {
  /** `result`: `done`, `again`, `conflict`, `error`, or the reason of a failure. */
  reconciled: (controller: string, result: string, seconds: number) => void;
  /**
   * Both are called whenever the figures are read. `waitedMs`: for how long the key that has waited
   * longest could have been reconciled.
   */
  exposeQueue: (controller: string, size: () => number, waitedMs: () => number) => void;
};

export type ControllerDeps = {
  metrics: ControllerMetrics;
  leadership: Leadership;
  clock: Clock;
  log: Logger;
};

export type ControllerOptions<Facts> = ControllerDeps & {
  /** In figures and in the log. */
  name: string;
  /** Run as long as the controller does. What they watch does not matter here: they call `mark`. */
  sources?: readonly { run: (signal: AbortSignal) => Promise<void> }[];
  /**
   * What is known now; undefined while that is too little to act on, since what is not known would
   * be taken for gone.
   */
  facts: () => Facts | undefined;
  /**
   * Marks every key that there is, and those of which something may be left over. Called when a
   * term begins: the leader before may have seen less, or not have come to them.
   */
  markAll: (signal: AbortSignal) => void | Promise<void>;
  /** Reconciles the key by itself. A conflict that it throws: again, on what is then known. */
  reconcile: (key: string, facts: Facts, signal: AbortSignal) => Promise<Outcome>;
  /** From a mark to the look, so that what comes together is one look. */
  coalesceMs: number;
  /**
   * The group of the key, e.g. its namespace: a group waits for a few keys of each other group,
   * never for all. Default: all are one group's.
   */
  groupOf?: (key: string) => string;
  /** Keys at a time. Default 1. */
  concurrency?: number;
  /** What the log says of the key. */
  fieldsOf: (key: string) => Readonly<Record<string, string | undefined>>;
};

export type Controller = {
  /** Something about the key has changed. `delayMs` replaces `coalesceMs`. Only the leader acts. */
  mark: (key: string, delayMs?: number) => void;
  /** Keys that wait or are being reconciled, including those that are due at a later time. */
  queued: () => number;
  /** Reconciles what is marked, in each term of this replica; ends with the signal and the work. */
  run: (signal: AbortSignal) => Promise<void>;
};

/** Between looks whether enough is known. */
const UNKNOWN_AGAIN_MS = 100;

export const createController = <Facts>(options: ControllerOptions<Facts>): Controller => {
  const { clock, coalesceMs, leadership, log, metrics, name, reconcile, sources = [] } = options;

  const look = async (key: string, signal: AbortSignal): Promise<number | 'retry' | undefined> => {
    const facts = options.facts();
    if (facts === undefined) return UNKNOWN_AGAIN_MS;
    const startedAt = clock.monotonic();
    const count = (result: string): void =>
      metrics.reconciled(name, result, (clock.monotonic() - startedAt) / 1_000);
    try {
      const outcome = await reconcile(key, facts, signal);
      count(resultOf(outcome));
      return outcome === 'done' ? undefined : (outcome.againInMs ?? 'retry');
    } catch (error) {
      if (signal.aborted) return undefined;
      count(isConflict(error) ? OVERTAKEN.failed : 'error');
      if (isConflict(error)) return 'retry';
      throw error;
    }
  };

  const queue = new WorkQueue<string>({
    work: look,
    concurrency: options.concurrency ?? 1,
    ...(options.groupOf && { groupOf: options.groupOf }),
    clock,
    onError: (key, err, retryInMs) =>
      log.warn(
        { controller: name, ...options.fieldsOf(key), err, retryInMs },
        'reconciliation failed, retrying',
      ),
  });
  metrics.exposeQueue(
    name,
    () => queue.size,
    () => queue.waitedMs,
  );

  /** One look for all keys, while none of them can be reconciled. */
  const untilKnown = async (signal: AbortSignal): Promise<void> => {
    while (!signal.aborted && options.facts() === undefined)
      await clock.sleep(UNKNOWN_AGAIN_MS, signal).catch(() => undefined);
  };

  const workTerm = async (signal: AbortSignal): Promise<void> => {
    await untilKnown(signal);
    const working = queue.run(signal);
    await options.markAll(signal);
    await working;
  };

  return {
    mark: (key, delayMs = coalesceMs) => {
      if (leadership.term() !== undefined) queue.add(key, delayMs);
    },
    queued: () => queue.size,
    run: async (signal) => {
      const reconciling = leadership.lead(workTerm, signal);
      await Promise.all([reconciling, ...sources.map((source) => source.run(signal))]);
    },
  };
};

const resultOf = (outcome: Outcome): string => {
  if (outcome === 'done') return 'done';
  return 'failed' in outcome ? outcome.failed : 'again';
};
