/**
 * Looks now and then how OpenWRT is, for the CNFStatus. Beside the passes and never in their way: it uses the session that they
 * have, and a look that fails tells nothing.
 */
import { isDeepStrictEqual } from 'node:util';
import type { Information } from '#shared/protocol/information.ts';
import { jittered } from '#shared/runtime/backoff.ts';
import type { Clock } from '#shared/runtime/clock.ts';
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
/** The first pass has made the session by then, as a rule. */
const FIRST_LOOK_MS = 1_000;

export const createInformationSource = (deps: InformationDeps): InformationSource => {
  const { driver, intervalMs, onChange, clock, log } = deps;
  let current: Information | undefined;

  const look = async (signal: AbortSignal): Promise<void> => {
    try {
      const deadline = AbortSignal.any([signal, AbortSignal.timeout(LOOK_TIMEOUT_MS)]);
      const seen = await driver.information?.(deadline);
      if (seen === undefined || isDeepStrictEqual(seen, current)) return;
      current = seen;
      onChange();
    } catch (error) {
      // Whether OpenWRT is reached, the passes tell.
      if (!signal.aborted) log.debug({ reason: messageOf(error) }, 'OpenWRT not looked at');
    }
  };

  return {
    current: () => current,
    run: async (signal) => {
      await clock.sleep(Math.min(FIRST_LOOK_MS, intervalMs), signal).catch(() => undefined);
      while (!signal.aborted) {
        await look(signal);
        await clock.sleep(jittered(intervalMs, JITTER), signal).catch(() => undefined);
      }
    },
  };
};
