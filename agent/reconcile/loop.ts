/**
 * Decides when a pass runs: when something changed, when OpenWRT is not what the last pass left,
 * and now and then without cause. One pass at a time; marks during a pass lead to another. Nothing
 * is written before every watch has synced once.
 */
import type { CnfPlace } from '#shared/resources/kind.ts';
import { createTrigger } from '#shared/runtime/trigger.ts';
import { jittered } from '#shared/runtime/backoff.ts';
import type { Clock } from '#shared/runtime/clock.ts';
import { messageOf } from '#shared/runtime/errors.ts';
import type { Logger } from '#shared/runtime/log.ts';
import type { DeviceTable, PodNetworks } from '#shared/compile/types.ts';
import {
  OpenwrtError,
  OpenwrtUnreachableError,
  type Driver,
  type Fingerprint,
} from '../openwrt/driver.ts';
import { StateFileError } from '../io/state-file.ts';
import type { RuleSource } from '../inputs/rules.ts';
import type { SecretSource } from '../inputs/secrets.ts';
import type { KernelDrift } from './kernel-repair.ts';
import type { Pace } from './pace.ts';
import type { Pass } from './pass.ts';
import type { PassInput } from './pass-state.ts';
import type { Refusals } from './refusals.ts';

export type LoopDeps = {
  driver: Driver;
  pass: Pass;
  refusals: Refusals;
  kernelDrift: Pick<KernelDrift, 'isDue'>;
  /**
   * The pace of passes for what has changed, not of those for an OpenWRT that is not as it was
   * left.
   */
  pace: Pick<Pace, 'waitMs'>;
  source: Pick<RuleSource, 'rules' | 'unknownKinds' | 'unservedKinds'>;
  secrets: Pick<SecretSource, 'follow' | 'values' | 'unread' | 'unknown'>;
  networks: () => PodNetworks;
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
  /** It answers, but a pass did not get through, or the agent cannot keep its state. */
  | { outcome: 'hindered'; message: string; stateFolder?: true }
  | { outcome: 'unanswered'; message: string };

export type LoopTimings = {
  probeIntervalMs: number;
  fullPassIntervalMs: number;
};

export type Loop = {
  /** Something that a pass looks at has changed. */
  mark: () => void;
  /** A full pass as soon as one can begin, however soon after the last. Gives what came of it. */
  passNow: () => Promise<Attempt>;
  /**
   * With what a pass would be given, and while none is under way; undefined: not all rules are
   * known yet. @throws what the work throws
   */
  between: <T>(work: (input: PassInput | undefined) => Promise<T>) => Promise<T>;
  /** Runs until the signal aborts. A transaction under way gets a moment to end. */
  run: (signal: AbortSignal) => Promise<void>;
};

/** Events of one `kubectl apply` come within some milliseconds: they become one pass. */
const COALESCE_MS = 10;
const JITTER = 0.25;
const BACKOFF = { baseMs: 500, maxMs: 10_000 };
/**
 * Between looks for an OpenWRT that starts or has just stopped answering, which cost next to
 * nothing: what comes back empty is noticed at once.
 */
const RETURNING_MS = 100;
/** No start takes longer. */
const RETURNING_FOR_MS = 60_000;
/** A sidecar can get as little as two seconds after SIGTERM. */
const LAST_MOMENT_MS = 1_500;

const RETRYING = 'failed to apply the rules to OpenWRT, retrying';

type Found = 'due' | 'answered' | 'unchanged' | 'differs';

export const createLoop = (deps: LoopDeps): Loop => {
  const { driver, pass, pace, refusals, kernelDrift, secrets, timings, clock, log } = deps;
  let dirty = true;
  const inTurn = createTurns();
  /** Told of the first pass that begins from now on. */
  let asked: ((attempt: Attempt) => void)[] = [];
  let left: Fingerprint | undefined;
  let fullPassAt = 0;
  // As if it had answered when the agent starts: both start at the same time.
  let answeredAt = clock.monotonic();
  const lastMoment = new AbortController();

  const soon = (): number => jittered(timings.probeIntervalMs, JITTER);
  const untilNextChange = (): number => Math.max(COALESCE_MS, pace.waitMs());

  const look = async (isAsked: boolean, signal: AbortSignal): Promise<Found> => {
    if (dirty) secrets.follow();
    const known = isKnown(deps);
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
      const input = { ...inputNow(deps), quiet };
      left = await pass(input, signal);
      if (!input.paused) deps.onPlaced(input.place);
    } catch (error) {
      dirty = true;
      throw error;
    }
    fullPassAt = clock.monotonic() + jittered(timings.fullPassIntervalMs, JITTER);
  };

  const attemptOnce = async (): Promise<number> => {
    let begun = momentNow(clock);
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
        begun = momentNow(clock);
        await runPass(lastMoment.signal);
        onAttempt({ outcome: 'passed' });
      }
      answeredAt = clock.monotonic();
      return dirty && found !== 'answered' ? Math.min(soon(), untilNextChange()) : soon();
    } catch (error) {
      const attempt = failureOf(error);
      onAttempt(attempt);
      if (attempt.outcome === 'hindered') {
        answeredAt = clock.monotonic();
        throw error;
      }
      // A look costs next to nothing, and a restart has to be noticed within a second. Logins have
      // a gate of their own.
      const isReturning = clock.monotonic() - answeredAt <= RETURNING_FOR_MS;
      return isReturning ? Math.min(soon(), jittered(RETURNING_MS, JITTER)) : soon();
    }
  };

  const trigger = createTrigger({
    delayMs: COALESCE_MS,
    backoff: BACKOFF,
    clock,
    run: () => inTurn(() => attemptOnce()),
    onError: (err, retryInMs) => log.warn({ err, retryInMs: Math.round(retryInMs) }, RETRYING),
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
    between: (work) =>
      inTurn(() => work(isKnown(deps) ? { ...inputNow(deps), quiet: false } : undefined)),
    run: async (signal) => {
      const end = (): void => lastMoment.abort(signal.reason);
      signal.addEventListener('abort', () => clock.after(LAST_MOMENT_MS, end), { once: true });
      trigger.mark(0);
      await trigger.start(signal);
    },
  };
};

const momentNow = (clock: Clock): Moment => ({ wall: clock.now(), monotonic: clock.monotonic() });

type Turn = <T>(work: () => Promise<T>) => Promise<T>;

/** One at OpenWRT after the other. */
const createTurns = (): Turn => {
  let last: Promise<unknown> = Promise.resolve();
  return (work) => {
    const result = last.then(work);
    last = result.catch(() => undefined);
    return result;
  };
};

const isKnown = ({ source, secrets }: LoopDeps): boolean =>
  source.unknownKinds().length === 0 && secrets.unknown().length === 0;

const inputNow = (deps: LoopDeps): Omit<PassInput, 'quiet'> & { place: CnfPlace } => ({
  rules: deps.source.rules(),
  secrets: deps.secrets.values(),
  unreadSecrets: deps.secrets.unread(),
  ...deps.networks(),
  devices: deps.devices(),
  place: deps.place(),
  unservedKinds: deps.source.unservedKinds(),
  paused: deps.paused(),
});

/** @throws the error, where neither OpenWRT nor a state file has failed */
const failureOf = (error: unknown): Attempt => {
  const message = messageOf(error);
  if (error instanceof StateFileError) return { outcome: 'hindered', message, stateFolder: true };
  if (!(error instanceof OpenwrtError)) throw error;
  const isUnanswered = error instanceof OpenwrtUnreachableError;
  return { outcome: isUnanswered ? 'unanswered' : 'hindered', message };
};
