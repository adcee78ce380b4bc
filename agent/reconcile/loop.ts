/**
 * Decides when a pass runs: when something changed, when OpenWRT is not what the last pass left, and now and then without
 * cause. One pass at a time; marks during a pass lead to another. Nothing is written before every watch has synced once.
 */
import type { CnfPlace } from '#shared/resources/kind.ts';
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
} from '../openwrt/driver.ts';
import { StateFileError } from '../io/state-file.ts';
import type { RuleSource } from '../inputs/rules.ts';
import type { SecretSource } from '../inputs/secrets.ts';
import type { KernelDrift } from './kernel-drift.ts';
import type { Pace } from './pace.ts';
import type { Pass } from './pass.ts';
import type { PassInput } from './pass-state.ts';
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
  place: () => CnfPlace;
  /** OpenWRT is as the rules are at that place. */
  onPlaced: (place: CnfPlace) => void;
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
  /** A full pass, as soon as one can begin, however short a time has passed since the last. Gives what came of it. */
  passNow: () => Promise<Attempt>;
  /** With what a pass would be given, and while none is under way; undefined: not all rules are known yet. @throws what the work throws */
  between: <T>(work: (input: PassInput | undefined) => Promise<T>) => Promise<T>;
  /** Runs until the signal aborts. A transaction under way gets a moment to end. */
  run: (signal: AbortSignal) => Promise<void>;
};

/** Events of one `kubectl apply` come within some milliseconds: they become one pass. */
const COALESCE_MS = 10;
const JITTER = 0.25;
const BACKOFF = { baseMs: 500, maxMs: 10_000 };
/** Between looks for an OpenWRT that starts or has just stopped answering, which cost next to nothing: what comes back empty is noticed at once. */
const RETURNING_MS = 100;
/** No start takes longer. */
const RETURNING_FOR_MS = 60_000;
/** A sidecar can get as little as two seconds after SIGTERM. */
const LAST_MOMENT_MS = 1_500;

export const createLoop = (deps: LoopDeps): Loop => {
  const { driver, pass, pace, refusals, kernelDrift, source, secrets } = deps;
  const { timings, clock, log } = deps;
  let dirty = true;
  /** What has the turn at OpenWRT now, or had it last. */
  let turn: Promise<unknown> = Promise.resolve();
  /** Who waits for a pass that has not begun. */
  let asked: ((attempt: Attempt) => void)[] = [];
  let left: Fingerprint | undefined;
  let fullPassAt = 0;
  const lastMoment = new AbortController();

  // As if it had answered when the agent starts: both start at the same time.
  let answeredAt = clock.monotonic();

  const inTurn = <T>(work: () => Promise<T>): Promise<T> => {
    const result = turn.then(work);
    turn = result.catch(() => undefined);
    return result;
  };
  const isKnown = (): boolean =>
    source.unknownKinds().length === 0 && secrets.unknown().length === 0;
  const inputNow = (): Omit<PassInput, 'quiet'> & { place: CnfPlace } => ({
    rules: source.rules(),
    secrets: secrets.values(),
    networks: deps.networks(),
    devices: deps.devices(),
    place: deps.place(),
    unservedKinds: source.unservedKinds(),
    paused: deps.paused(),
  });

  const soon = (): number => jittered(timings.probeIntervalMs, JITTER);
  const untilBack = (): number =>
    clock.monotonic() - answeredAt > RETURNING_FOR_MS
      ? soon()
      : Math.min(soon(), jittered(RETURNING_MS, JITTER));
  const untilNextChange = (): number => Math.max(COALESCE_MS, pace.waitMs());
  const momentNow = (): Moment => ({ wall: clock.now(), monotonic: clock.monotonic() });

  const look = async (
    isAsked: boolean,
    signal: AbortSignal,
  ): Promise<'due' | 'answered' | 'unchanged' | 'differs'> => {
    if (dirty) secrets.follow();
    const known = isKnown();
    const isDue = (): boolean =>
      isAsked ||
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
      const input = { ...inputNow(), quiet };
      left = await pass(input, signal);
      if (!input.paused) deps.onPlaced(input.place);
    } catch (error) {
      dirty = true;
      throw error;
    }
    fullPassAt = clock.monotonic() + jittered(timings.fullPassIntervalMs, JITTER);
  };

  const attemptOnce = async (): Promise<number> => {
    let begun = momentNow();
    const asking = asked;
    asked = [];
    const onAttempt = (attempt: Attempt): void => {
      deps.onAttempt(attempt, begun);
      if (attempt.outcome !== 'differs') for (const resolve of asking) resolve(attempt);
    };
    try {
      await deps.rescue(lastMoment.signal);
      const found = await look(asking.length > 0, lastMoment.signal);
      if (found !== 'due') onAttempt({ outcome: found });
      if (found === 'due' || found === 'differs') {
        begun = momentNow();
        await runPass(lastMoment.signal);
        onAttempt({ outcome: 'passed' });
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
        onAttempt({ outcome: 'hindered', message, ...ofFolder });
        throw error;
      }
      onAttempt({ outcome: 'unanswered', message });
      // A look costs next to nothing, and a restart has to be noticed within a second. Logins have a gate of their own.
      return untilBack();
    }
  };

  const trigger = createTrigger({
    delayMs: COALESCE_MS,
    backoff: BACKOFF,
    clock,
    run: () => inTurn(() => attemptOnce()),
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
    passNow: () => {
      dirty = true;
      const { promise, resolve } = Promise.withResolvers<Attempt>();
      asked.push(resolve);
      trigger.mark(0);
      return promise;
    },
    between: (work) => inTurn(() => work(isKnown() ? { ...inputNow(), quiet: false } : undefined)),
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
