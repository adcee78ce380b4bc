/**
 * `auto`: takes the first driver whose API this OpenWRT speaks, and stays with it, since a pod's containers do not change
 * what they are. Until one is found every call looks again.
 */
import type { Clock } from '#shared/runtime/clock.ts';
import type { Logger } from '#shared/runtime/log.ts';
import { OpenwrtApiMissingError, OpenwrtUnreachableError, type Driver } from './driver.ts';
import type { OpenwrtTarget } from './ubus/login/credentials.ts';
import { createIcnDriver } from './icn/driver.ts';
import { createUbusDriver } from './ubus/driver.ts';

export type DriverOptions = {
  wanted: 'auto' | 'ubus' | 'icn';
  target: Omit<OpenwrtTarget, keyof LoginFiles>;
  /** By driver; one without a login cannot be used. At least one is there. */
  logins: { ubus?: LoginFiles | undefined; icn?: LoginFiles | undefined };
  /** UCI packages that the agent's rules go to. */
  packages: readonly string[];
  /** See `IcnDriverOptions`. */
  reassertMs: number;
  clock: Clock;
  log: Logger;
};
export type LoginFiles = Pick<OpenwrtTarget, 'usernameFile' | 'passwordFile'>;

/** The one place where a driver's name becomes a driver. */
export const createDriver = (options: DriverOptions): Driver => {
  const { wanted, logins, log } = options;
  const candidates = [
    ...(wanted !== 'icn' && logins.ubus ? [ubusDriver(options, logins.ubus)] : []),
    ...(wanted !== 'ubus' && logins.icn ? [icnDriver(options, logins.icn)] : []),
  ];
  const [only] = candidates;
  return wanted !== 'auto' && only ? only : createAutoDriver({ candidates, log });
};

const ubusDriver = ({ target, packages, clock, log }: DriverOptions, login: LoginFiles): Driver =>
  createUbusDriver({ target: { ...target, ...login }, packages, clock, log });

const icnDriver = ({ target, reassertMs, clock }: DriverOptions, login: LoginFiles): Driver =>
  createIcnDriver({ target: { ...target, ...login }, reassertMs, clock });

export type DetectDeps = {
  /** In the order of preference: `ubus`, then `icn`. */
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
    information: async (signal) => chosen?.information(signal),
    close: async () => {
      await Promise.all(candidates.map((candidate) => candidate.close()));
    },
  };
};
