/**
 * `auto`: takes the first driver whose API this OpenWRT speaks, and stays with it, since a pod's containers do not change
 * what they are. Until one is found every call looks again.
 */
import type { Logger } from '#shared/runtime/log.ts';
import { OpenwrtApiMissingError, OpenwrtUnreachableError, type Driver } from './driver.ts';
import { createUbusDriver, type UbusDriverOptions } from './ubus.ts';

export type DriverOptions = UbusDriverOptions & {
  wanted: 'auto' | 'ubus';
};

/** The one place where a driver's name becomes a driver. */
export const createDriver = ({ wanted, ...options }: DriverOptions): Driver =>
  wanted === 'ubus'
    ? createUbusDriver(options)
    : createAutoDriver({ candidates: [createUbusDriver(options)], log: options.log });

export type DetectDeps = {
  /** In the order of preference: `ubus`, then (when it is there) `icn`. */
  candidates: readonly Driver[];
  log: Logger;
};

export const createAutoDriver = ({ candidates, log }: DetectDeps): Driver => {
  let chosen: Driver | undefined;

  const detect = async (signal: AbortSignal): Promise<Driver> => {
    for (const candidate of candidates) {
      try {
        await candidate.fingerprint(signal);
      } catch (error) {
        if (!(error instanceof OpenwrtApiMissingError)) throw error;
        log.debug({ driver: candidate.name, err: error }, 'driver does not fit');
        continue;
      }
      log.info({ driver: candidate.name }, 'driver chosen: OpenWRT speaks its API');
      chosen = candidate;
      return candidate;
    }
    const names = candidates.map(({ name }) => name).join(', ');
    throw new OpenwrtUnreachableError(
      'choose a driver',
      `OpenWRT speaks the API of none of: ${names}`,
    );
  };

  const use = async (signal: AbortSignal): Promise<Driver> => chosen ?? detect(signal);

  return {
    get name() {
      return chosen?.name ?? 'auto';
    },
    fingerprint: async (signal) => (await use(signal)).fingerprint(signal),
    read: async (signal) => (await use(signal)).read(signal),
    apply: async (deltas, signal) => (await use(signal)).apply(deltas, signal),
    close: async () => {
      await Promise.all(candidates.map((candidate) => candidate.close()));
    },
  };
};
