/**
 * One connection to one server, for exchanges that come one after the other. A new one takes its
 * place in time, so that a server's new certificate counts without a restart, and at once for other
 * CAs.
 */
import { Agent as HttpAgent } from 'node:http';
import { Agent as HttpsAgent } from 'node:https';
import { jittered } from '../runtime/backoff.ts';
import type { Clock } from '../runtime/clock.ts';

export type KeptConnection = {
  /** For the next exchange. `ca`: PEM that the server is trusted by. */
  agentFor: (of: { url: URL; ca: string | undefined }) => HttpAgent;
  /** Closes it; the next exchange makes a new one. */
  drop: () => void;
};

/**
 * As long as the coordinator trusts a token without asking again: so long each side may count on
 * what it has seen of the other.
 */
const MOST_MS = 300_000;
/** All agents connect in the same seconds after a coordinator has started. */
const JITTER = 0.25;

export const createKeptConnection = (clock: Pick<Clock, 'monotonic'>): KeptConnection => {
  let kept: { agent: HttpAgent; ca: string | undefined; until: number } | undefined;
  const drop = (): void => {
    kept?.agent.destroy();
    kept = undefined;
  };
  return {
    agentFor: ({ url, ca }) => {
      if (kept && (kept.ca !== ca || clock.monotonic() >= kept.until)) drop();
      // Without sessions: one that is resumed would not show a new certificate.
      kept ??= {
        agent:
          url.protocol === 'https:'
            ? new HttpsAgent({ keepAlive: true, maxCachedSessions: 0 })
            : new HttpAgent({ keepAlive: true }),
        ca,
        until: clock.monotonic() + jittered(MOST_MS, JITTER),
      };
      return kept.agent;
    },
    drop,
  };
};
