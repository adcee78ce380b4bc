/**
 * What each driver of the table (`shared/inject/drivers.ts`) is made by. `auto` takes the first
 * whose API this OpenWRT speaks, and stays with it, since a pod's containers do not change what
 * they are. Until one is found every call looks again.
 */
import { driversFor, type DriverChoice, type DriverName } from '#shared/inject/drivers.ts';
import type { Clock } from '#shared/runtime/clock.ts';
import type { Logger } from '#shared/runtime/log.ts';
import { OpenwrtApiMissingError, OpenwrtUnreachableError, type Driver } from './driver.ts';
import type { OpenwrtTarget } from './ubus/login/credentials.ts';
import { createIcnDriver } from './icn/driver.ts';
import { createUbusDriver } from './ubus/driver.ts';
import type { Unconfirmed } from './ubus/write/unconfirmed.ts';

export type DriverOptions = {
  wanted: DriverChoice;
  target: Omit<OpenwrtTarget, keyof LoginFiles>;
  /** One without a login cannot be used. Those wanted have at least one. */
  logins: ReadonlyMap<DriverName, LoginFiles>;
  /** UCI packages that the agent's rules go to. */
  packages: readonly string[];
  /** What a driver records that confirms its changes. */
  unconfirmed: Unconfirmed;
  /** See `IcnDriverOptions`. */
  reassertMs: number;
  clock: Clock;
  log: Logger;
};
export type LoginFiles = Pick<OpenwrtTarget, 'usernameFile' | 'passwordFile'>;

const makers: Readonly<
  Record<DriverName, (target: OpenwrtTarget, options: DriverOptions) => Driver>
> = {
  ubus: (target, { packages, unconfirmed, clock, log }) =>
    createUbusDriver({ target, packages, unconfirmed, clock, log }),
  icn: (target, { reassertMs, clock }) => createIcnDriver({ target, reassertMs, clock }),
};

/** The one place where a driver's name becomes a driver. */
export const createDriver = (options: DriverOptions): Driver => {
  const { wanted, target, logins, log } = options;
  const candidates = driversFor(wanted).flatMap(({ name }): Driver[] => {
    const login = logins.get(name);
    return login ? [makers[name]({ ...target, ...login }, options)] : [];
  });
  const [only] = candidates;
  return wanted !== 'auto' && only ? only : createAutoDriver({ candidates, log });
};

const createAutoDriver = ({
  candidates,
  log,
}: {
  candidates: readonly Driver[];
  log: Logger;
}): Driver => {
  let chosen: Driver | undefined;

  const choose = async (signal: AbortSignal): Promise<Driver> => {
    for (const driver of candidates) {
      try {
        // The first look needs all that a driver needs.
        await driver.fingerprint(signal);
      } catch (error) {
        if (!(error instanceof OpenwrtApiMissingError)) throw error;
        log.debug(
          { driver: driver.name, err: error },
          'OpenWRT does not answer the API of this driver',
        );
        continue;
      }
      log.info({ driver: driver.name }, 'driver selected: OpenWRT answers its API');
      chosen = driver;
      return driver;
    }
    const names = candidates.map(({ name }) => name).join(', ');
    throw new OpenwrtUnreachableError(
      'select a driver',
      `OpenWRT answers the API of none of: ${names}`,
    );
  };

  const use = async (signal: AbortSignal): Promise<Driver> => chosen ?? choose(signal);

  return {
    get name() {
      return chosen?.name ?? 'auto';
    },
    fingerprint: async (signal) => (await use(signal)).fingerprint(signal),
    read: async (signal) => (await use(signal)).read(signal),
    rename: async (renames, signal) => (await use(signal)).rename(renames, signal),
    apply: async (deltas, signal, ending) => (await use(signal)).apply(deltas, signal, ending),
    information: async (signal) => chosen?.information(signal),
    unansweredSince: () => chosen?.unansweredSince(),
    firewallWays: () => chosen?.firewallWays?.(),
    kernelRules: () => chosen?.kernelRules?.() ?? NOT_READ,
    policies: () => chosen?.policies?.(),
    close: async () => {
      await Promise.all(candidates.map((driver) => driver.close()));
    },
  };
};

const NOT_READ = { unread: 'the API of this OpenWRT does not show its kernel' };
