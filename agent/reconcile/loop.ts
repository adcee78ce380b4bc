/**
 * Decides when a pass runs: when something changed, when OpenWRT is not what the last pass left, and now and then without
 * cause. One pass at a time; marks during a pass lead to another. Nothing is written before every watch has synced once.
 */
import { createTrigger } from '#shared/runtime/trigger.ts';
import { jittered } from '#shared/runtime/backoff.ts';
import type { Clock } from '#shared/runtime/clock.ts';
import { messageOf } from '#shared/runtime/errors.ts';
import type { Logger } from '#shared/runtime/log.ts';
import type { DeviceTable, NetworkTable } from '#shared/compile/types.ts';
import {
  OpenwrtError,
  OpenwrtUnreachableError,
  type Driver,
  type Fingerprint,
} from '../device/driver.ts';
import { StateFileError } from '../io/state-file.ts';
import type { RuleSource } from '../rules/rules.ts';
import type { SecretSource } from '../rules/secrets.ts';
import type { KernelDrift } from './kernel-drift.ts';
import type { Pace } from './pace.ts';
import type { Pass } from './pass.ts';
import type { Refusals } from './refusals.ts';

export type LoopDeps = {
  driver: Driver;
  pass: Pass;
  refusals: Refusals;
  kernelDrift: Pick<KernelDrift, 'isDue'>;
  /** Of passes for what has changed, not of those for an OpenWRT that is not as it was left. */
  pace: Pick<Pace, 'waitMs'>;
  source: Pick<RuleSource, 'rules' | 'unknownKinds' | 'unservedKinds'>;
  secrets: Pick<SecretSource, 'follow' | 'values' | 'unknown'>;
  networks: () => NetworkTable;
  devices: () => DeviceTable;
  paused: () => boolean;
  /** Before each look. @throws OpenwrtError */
  rescue: (signal: AbortSignal) => Promise<void>;
  /** The outcome of the latest attempt to reach or change OpenWRT, and when that began. */
  onAttempt: (attempt: Attempt, begun: Moment) => void;
  timings: LoopTimings;
  clock: Clock;
  log: Logger;
};

export type Moment = { wall: number; monotonic: number };

export type Attempt =
  /** It is not known yet what it should be. */
  | { outcome: 'answered' }
  /** It is as the last pass left it. */
  | { outcome: 'unchanged' }
  /** It is not; a pass follows at once. */
  | { outcome: 'differs' }
  /** A pass came to its end. */
  | { outcome: 'passed' }
  /** It answers, but a pass did not get through, or the agent cannot keep what it has to know of it. */
  | { outcome: 'hindered'; message: string; stateFolder?: true }
  | { outcome: 'unanswered'; message: string };

export type LoopTimings = {
  probeIntervalMs: number;
  fullPassIntervalMs: number;
};

export type Loop = {
  /** Something that a pass looks at has changed. */
  mark: () => void;
  /** Runs until the signal aborts. A transaction under way gets a moment to end. */
  run: (signal: AbortSignal) => Promise<void>;
};

/** Events of one `kubectl apply` come within some milliseconds: they become one pass. */
const COALESCE_MS = 10;
const JITTER = 0.25;
const BACKOFF = { baseMs: 500, maxMs: 10_000 };
/** Between looks for an OpenWRT that starts or has just stopped answering, which cost next to nothing: what comes back empty is noticed at once. */
const RETURNING_MS = 200;
/** No start takes longer. */
const RETURNING_FOR_MS = 60_000;
/** A sidecar can get as little as two seconds after SIGTERM. */
const LAST_MOMENT_MS = 1_500;

export const createLoop = (deps: LoopDeps): Loop => {
  const { driver, pass, pace, refusals, kernelDrift, source, secrets } = deps;
  const { onAttempt, timings, clock, log } = deps;
  let dirty = true;
  let left: Fingerprint | undefined;
  let fullPassAt = 0;
  const lastMoment = new AbortController();

  // As if it had answered when the agent starts: both start at the same time.
  let answeredAt = clock.monotonic();

  const soon = (): number => jittered(timings.probeIntervalMs, JITTER);
  const untilBack = (): number =>
    clock.monotonic() - answeredAt > RETURNING_FOR_MS
      ? soon()
      : Math.min(soon(), jittered(RETURNING_MS, JITTER));
  const untilNextChange = (): number => Math.max(COALESCE_MS, pace.waitMs());
  const momentNow = (): Moment => ({ wall: clock.now(), monotonic: clock.monotonic() });

  const look = async (
    signal: AbortSignal,
  ): Promise<'due' | 'answered' | 'unchanged' | 'differs'> => {
    if (dirty) secrets.follow();
    const known = source.unknownKinds().length === 0 && secrets.unknown().length === 0;
    const isDue = (): boolean =>
      clock.monotonic() >= fullPassAt ||
      refusals.releaseDue() ||
      (!deps.paused() && kernelDrift.isDue());
    if (known && ((dirty && pace.waitMs() === 0) || isDue())) return 'due';
    const found = await driver.fingerprint(signal);
    if (!known) return 'answered';
    return found === left ? 'unchanged' : 'differs';
  };

  const runPass = async (signal: AbortSignal): Promise<void> => {
    const quiet = !dirty && clock.monotonic() >= fullPassAt;
    dirty = false;
    try {
      left = await pass(
        {
          rules: source.rules(),
          secrets: secrets.values(),
          networks: deps.networks(),
          devices: deps.devices(),
          unservedKinds: source.unservedKinds(),
          paused: deps.paused(),
          quiet,
        },
        signal,
      );
    } catch (error) {
      dirty = true;
      throw error;
    }
    fullPassAt = clock.monotonic() + jittered(timings.fullPassIntervalMs, JITTER);
  };

  const trigger = createTrigger({
    delayMs: COALESCE_MS,
    backoff: BACKOFF,
    clock,
    run: async () => {
      let begun = momentNow();
      try {
        await deps.rescue(lastMoment.signal);
        const found = await look(lastMoment.signal);
        if (found !== 'due') onAttempt({ outcome: found }, begun);
        if (found === 'due' || found === 'differs') {
          begun = momentNow();
          await runPass(lastMoment.signal);
          onAttempt({ outcome: 'passed' }, begun);
        }
        answeredAt = clock.monotonic();
        return dirty && found !== 'answered' ? Math.min(soon(), untilNextChange()) : soon();
      } catch (error) {
        const isKnown = error instanceof OpenwrtError || error instanceof StateFileError;
        if (!isKnown) throw error;
        const message = messageOf(error);
        if (!(error instanceof OpenwrtUnreachableError)) {
          answeredAt = clock.monotonic();
          const ofFolder = error instanceof StateFileError && { stateFolder: true as const };
          onAttempt({ outcome: 'hindered', message, ...ofFolder }, begun);
          throw error;
        }
        onAttempt({ outcome: 'unanswered', message }, begun);
        // A look costs next to nothing, and a restart has to be noticed within a second. Logins have a gate of their own.
        return untilBack();
      }
    },
    onError: (error, retryInMs) =>
      log.warn(
        { err: error, retryInMs: Math.round(retryInMs) },
        'failed to apply the rules to OpenWRT, retrying',
      ),
  });

  return {
    mark: () => {
      dirty = true;
      trigger.mark(untilNextChange());
    },
    run: async (signal) => {
      const onAbort = (): void => {
        clock.after(LAST_MOMENT_MS, () => lastMoment.abort(signal.reason));
      };
      signal.addEventListener('abort', onAbort, { once: true });
      trigger.mark(0);
      await trigger.start(signal);
    },
  };
};
