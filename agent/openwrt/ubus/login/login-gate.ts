/**
 * Keeps a login that OpenWRT has refused from being tried at each look: a try costs OpenWRT a hash
 * and a line in its log, and the answer stays the same until something changes. Until then the
 * agent only checks whether OpenWRT answers, so that one that was away, and may know the login now,
 * gets a try at once; so do other credentials.
 */
import { createBackoff } from '#shared/runtime/backoff.ts';
import type { Clock } from '#shared/runtime/clock.ts';
import { OpenwrtLoginRefusedError } from '../../driver.ts';

export type Credentials = { username: string; password: string };

export type LoginGate = {
  /** What `logIn` gives. @throws what either throws; the last refusal while a try is too early */
  pass: <T>(
    credentials: Credentials,
    calls: {
      /** @throws OpenwrtLoginRefusedError when another try would be refused, too */
      logIn: () => Promise<T>;
      /** Cheap, and without a login. @throws Error when OpenWRT does not answer */
      look: () => Promise<unknown>;
    },
  ) => Promise<T>;
};

const BACKOFF = { baseMs: 2_000, maxMs: 30_000 };

export const createLoginGate = (clock: Pick<Clock, 'monotonic'>): LoginGate => {
  const backoff = createBackoff(BACKOFF);
  let refused: { login: string; error: OpenwrtLoginRefusedError; until: number } | undefined;

  const forget = (): void => {
    refused = undefined;
    backoff.reset();
  };

  return {
    pass: async (credentials, { logIn, look }) => {
      const login = JSON.stringify(credentials);
      if (refused?.login !== login) forget();
      try {
        if (refused !== undefined && clock.monotonic() < refused.until) {
          await look();
          throw refused.error;
        }
        const session = await logIn();
        forget();
        return session;
      } catch (error) {
        if (!(error instanceof OpenwrtLoginRefusedError)) forget();
        else if (error !== refused?.error)
          refused = { login, error, until: clock.monotonic() + backoff.next() };
        throw error;
      }
    },
  };
};
