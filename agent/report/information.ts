/**
 * Looks now and then how OpenWRT is, for the CNFStatus. Beside the passes and never in their way:
 * it uses the session that they have, and a look that fails reports nothing.
 */
import { isDeepStrictEqual } from 'node:util';
import type { Information } from '#shared/protocol/information.ts';
import { jittered } from '#shared/runtime/backoff.ts';
import type { Clock } from '#shared/runtime/clock.ts';
import { withDeadline } from '#shared/runtime/deadline.ts';
import { messageOf } from '#shared/runtime/errors.ts';
import type { Logger } from '#shared/runtime/log.ts';
import type { Driver } from '../openwrt/driver.ts';

export type InformationDeps = {
  driver: Pick<Driver, 'information'>;
  intervalMs: number;
  onChange: () => void;
  clock: Clock;
  log: Logger;
};

export type InformationSource = {
  /** The last that was seen. */
  current: () => Information | undefined;
  run: (signal: AbortSignal) => Promise<void>;
};

const JITTER = 0.25;
const LOOK_TIMEOUT_MS = 10_000;
/** Until the first pass has made a session: asking for one costs nothing. */
const NO_SESSION_MS = 1_000;

export const createInformationSource = (deps: InformationDeps): InformationSource => {
  const { driver, intervalMs, onChange, clock, log } = deps;
  let current: Information | undefined;

  /** When to look again, in milliseconds. */
  const look = async (signal: AbortSignal): Promise<number> => {
    try {
      const limits = { timeoutMs: LOOK_TIMEOUT_MS, clock, signal };
      const seen = await withDeadline(limits, driver.information);
      if (seen === undefined) return Math.min(NO_SESSION_MS, intervalMs);
      if (!isDeepStrictEqual(seen, current)) {
        current = seen;
        onChange();
      }
    } catch (error) {
      // The passes report whether OpenWRT is reached.
      if (!signal.aborted)
        log.debug(
          { reason: messageOf(error) },
          'failed to read the state of OpenWRT for the CNFStatus',
        );
    }
    return jittered(intervalMs, JITTER);
  };

  return {
    current: () => current,
    run: async (signal) => {
      while (!signal.aborted) {
        const againInMs = await look(signal);
        await clock.sleep(againInMs, signal).catch(() => undefined);
      }
    },
  };
};
