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
import type { RuleSource } from '../rules/rules.ts';
import type { SecretSource } from '../rules/secrets.ts';
import type { KernelDrift } from './kernel-drift.ts';
import type { Pass } from './pass.ts';
import type { Refusals } from './refusals.ts';

export type LoopDeps = {
  driver: Driver;
  pass: Pass;
  refusals: Refusals;
  kernelDrift: Pick<KernelDrift, 'isDue'>;
  source: Pick<RuleSource, 'rules' | 'unknownKinds' | 'unservedKinds'>;
  secrets: Pick<SecretSource, 'follow' | 'values' | 'unknown'>;
  networks: () => NetworkTable;
  devices: () => DeviceTable;
  /** The outcome of the latest attempt to reach or change OpenWRT. */
  onAttempt: (attempt: Attempt) => void;
  timings: LoopTimings;
  clock: Clock;
  log: Logger;
};

export type Attempt =
  | { outcome: 'answered' }
  /** A pass came to its end. */
  | { outcome: 'passed' }
  /** It answers, but a pass did not get through. */
  | { outcome: 'hindered'; message: string }
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
/** A sidecar can get as little as two seconds after SIGTERM. */
const LAST_MOMENT_MS = 1_500;

export const createLoop = (deps: LoopDeps): Loop => {
  const { driver, pass, refusals, kernelDrift, source, secrets, onAttempt, timings, clock, log } =
    deps;
  let dirty = true;
  let left: Fingerprint | undefined;
  let fullPassAt = 0;
  const lastMoment = new AbortController();

  const soon = (): number => jittered(timings.probeIntervalMs, JITTER);

  const isNeeded = async (signal: AbortSignal): Promise<boolean> => {
    if (dirty) secrets.follow();
    const known = source.unknownKinds().length === 0 && secrets.unknown().length === 0;
    const isDue = (): boolean =>
      clock.monotonic() >= fullPassAt || refusals.releaseDue() || kernelDrift.isDue();
    if (known && (dirty || isDue())) return true;
    return (await driver.fingerprint(signal)) !== left && known;
  };

  const runPass = async (signal: AbortSignal): Promise<void> => {
    dirty = false;
    try {
      left = await pass(
        {
          rules: source.rules(),
          secrets: secrets.values(),
          networks: deps.networks(),
          devices: deps.devices(),
          unservedKinds: source.unservedKinds(),
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
      try {
        const needed = await isNeeded(lastMoment.signal);
        if (needed) await runPass(lastMoment.signal);
        onAttempt({ outcome: needed ? 'passed' : 'answered' });
        return soon();
      } catch (error) {
        if (!(error instanceof OpenwrtError)) throw error;
        const message = messageOf(error);
        const answers = !(error instanceof OpenwrtUnreachableError);
        onAttempt({ outcome: answers ? 'hindered' : 'unanswered', message });
        if (answers) throw error;
        // A look costs next to nothing, and a restart has to be noticed within two seconds. Logins have a gate of their own.
        return soon();
      }
    },
    onError: (error, retryInMs) =>
      log.warn({ err: error, retryInMs: Math.round(retryInMs) }, 'pass failed, retrying'),
  });

  return {
    mark: () => {
      dirty = true;
      trigger.mark();
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
