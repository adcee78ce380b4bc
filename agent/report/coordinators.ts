/**
 * Reports to each coordinator there is: the URLs are resolved again and again, and every address
 * has a stream of reports of its own, so all of them know all, whichever of them leads. An address
 * that is not named any more is left alone.
 */
import { lookup } from 'node:dns/promises';
import { isIP } from 'node:net';
import { bareHost } from '#shared/http/host.ts';
import { jittered } from '#shared/runtime/backoff.ts';
import type { Clock } from '#shared/runtime/clock.ts';
import { withDeadline } from '#shared/runtime/deadline.ts';
import { messageOf } from '#shared/runtime/errors.ts';
import type { Logger } from '#shared/runtime/log.ts';
import type { ReportClient, ReportTarget } from './client.ts';
import type { Publisher } from './publish.ts';

export type CoordinatorsDeps = {
  urls: readonly string[];
  /** All addresses of a host name. */
  resolve: (host: string) => Promise<readonly string[]>;
  clientOf: (target: ReportTarget) => ReportClient;
  publisherOf: (client: ReportClient, log: Logger) => Publisher;
  clock: Clock;
  log: Logger;
};

export type Coordinators = Publisher & {
  /**
   * Whether each of them that answers says that the API server was away for it, too, in the last
   * seconds; false when none answers.
   */
  sayApiServerWasAway: (signal: AbortSignal) => Promise<boolean>;
};

type Stream = { client: ReportClient; publisher: Publisher; ended: Promise<void>; end: () => void };

/** As long as the cluster's DNS lets others keep an answer. */
const RESOLVE_INTERVAL_MS = 5_000;
/** While no coordinator is known. */
const UNKNOWN_INTERVAL_MS = 1_000;
const RESOLVE_TIMEOUT_MS = 3_000;
const JITTER = 0.25;

export const resolveHost = async (host: string): Promise<readonly string[]> =>
  (await lookup(host, { all: true })).map(({ address }) => address);

export const createCoordinators = (deps: CoordinatorsDeps): Coordinators => {
  const { clock, log } = deps;
  const streams = new Map<string, Stream>();
  const logged = new Set<string>();

  const addressesOf = async (url: URL, signal: AbortSignal): Promise<readonly string[]> => {
    const host = bareHost(url.hostname);
    if (isIP(host) !== 0) return [host];
    const limits = { timeoutMs: RESOLVE_TIMEOUT_MS, clock, signal };
    return withDeadline(limits, (cut) => Promise.race([deps.resolve(host), rejected(cut)]));
  };

  /** Undefined when it is not known now. */
  const targetsOf = async (url: URL, signal: AbortSignal): Promise<ReportTarget[] | undefined> => {
    try {
      const addresses = await addressesOf(url, signal);
      logged.delete(url.host);
      return addresses.map((address) => targetAt(url, address));
    } catch (error) {
      if (!signal.aborted && !logged.has(url.host))
        log.warn(
          { host: url.hostname, reason: messageOf(error) },
          'failed to resolve the coordinator',
        );
      logged.add(url.host);
      return undefined;
    }
  };

  const open = (target: ReportTarget, signal: AbortSignal): Stream => {
    const ending = new AbortController();
    const client = deps.clientOf({ ...target, others: () => streams.size - 1 });
    const publisher = deps.publisherOf(client, log.child({ coordinator: target.url.host }));
    const ended = publisher
      .run(AbortSignal.any([signal, ending.signal]))
      .finally(() => client.close());
    return { client, publisher, ended, end: () => ending.abort() };
  };

  const follow = async (signal: AbortSignal): Promise<void> => {
    const found = await Promise.all(deps.urls.map((url) => targetsOf(new URL(url), signal)));
    if (signal.aborted) return;
    const targets = new Map(found.flatMap((some = []) => some).map((one) => [one.url.href, one]));
    for (const [key, target] of targets)
      if (!streams.has(key)) streams.set(key, open(target, signal));
    // One that could not be resolved may still have all of its addresses.
    if (found.includes(undefined)) return;
    for (const [key, stream] of streams) {
      if (targets.has(key)) continue;
      stream.end();
      streams.delete(key);
    }
  };

  return {
    mark: () => {
      for (const { publisher } of streams.values()) publisher.mark();
    },
    sayApiServerWasAway: async (signal) => {
      const asked = [...streams.values()].map(({ client }) => client.wasApiServerAway(signal));
      const words = await Promise.allSettled(asked);
      signal.throwIfAborted();
      const said = words.flatMap((word) => (word.status === 'fulfilled' ? [word.value] : []));
      return said.length > 0 && said.every(Boolean);
    },
    run: async (signal) => {
      while (!signal.aborted) {
        await follow(signal);
        const ms = streams.size > 0 ? RESOLVE_INTERVAL_MS : UNKNOWN_INTERVAL_MS;
        await clock.sleep(jittered(ms, JITTER), signal).catch(() => undefined);
      }
      await Promise.all([...streams.values()].map(({ ended }) => ended));
    },
  };
};

/** The name stays the one that the certificate is for. */
const targetAt = (url: URL, address: string): ReportTarget => {
  const at = new URL(url);
  at.hostname = isIP(address) === 6 ? `[${address}]` : address;
  const serverName = at.hostname === url.hostname ? undefined : url.hostname;
  return { url: at, serverName, others: () => 0 };
};

const rejected = (signal: AbortSignal): Promise<never> =>
  new Promise((_resolve, reject) => {
    signal.addEventListener('abort', () => reject(signal.reason), { once: true });
  });
