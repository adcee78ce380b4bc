/**
 * Tells a browser when its page has become another one, by server-sent events that hold nothing but
 * a mark: what the page shows it asks for itself. Looks as often as there are changes, and less
 * often where a look costs much.
 */
import type { Context } from 'hono';
import { streamSSE } from 'hono/streaming';
import type { Clock } from '#shared/runtime/clock.ts';
import type { Logger } from '#shared/runtime/log.ts';
import type { Session } from './viewer/sessions.ts';

const LOOK_MS = 1_000;
/** A viewer's looks take at most a fiftieth of the coordinator's time. */
const REST = 50;
/** Below what the browser takes for a lost connection. */
const ALIVE_MS = 10_000;
/** Rights change without anybody saying so, and are kept for as long. */
const RIGHTS_MS = 30_000;
export const MAX_STREAMS = 64;
export const MAX_STREAMS_OF_A_SESSION = 8;

export type LiveDeps = {
  /** Grows with each change. */
  version: () => number;
  isOpen: (session: Session) => boolean;
  /** The program's signal. */
  signal: AbortSignal;
  clock: Clock;
  log: Logger;
};

export type Live = {
  /** `mark`: of the page now; undefined when it is gone. */
  follow: (context: Context, session: Session, mark: () => Promise<string | undefined>) => Response;
  /** Open ones. */
  count: () => number;
};

export const createLive = ({ version, isOpen, signal, clock, log }: LiveDeps): Live => {
  const streams = new Map<string, number>();
  const count = (): number => [...streams.values()].reduce((sum, one) => sum + one, 0);

  return {
    count,
    follow: (context, session, mark) => {
      const own = streams.get(session.id) ?? 0;
      if (count() >= MAX_STREAMS || own >= MAX_STREAMS_OF_A_SESSION)
        return context.text('too many pages are open\n', 503);
      streams.set(session.id, own + 1);
      const left = new AbortController();
      const ended = AbortSignal.any([signal, left.signal]);
      const leave = (): void => {
        const open = (streams.get(session.id) ?? 1) - 1;
        if (open === 0) streams.delete(session.id);
        else streams.set(session.id, open);
      };
      return streamSSE(context, async (stream) => {
        stream.onAbort(() => left.abort());
        const send = (event: string, data = ''): Promise<void> => stream.writeSSE({ event, data });
        try {
          await watch({ send, mark, ended });
          if (!ended.aborted) await send('signed-out');
        } catch (error) {
          // Nothing of it reaches the browser: it says that the connection is lost, and tries
          // again.
          if (!ended.aborted) log.debug({ err: error }, 'a live page ended');
        } finally {
          leave();
        }
      });

      /** Until the session is over, or the browser or the program has gone. */
      async function watch(at: {
        send: (event: string, data?: string) => Promise<void>;
        mark: () => Promise<string | undefined>;
        ended: AbortSignal;
      }): Promise<void> {
        let last: string | undefined;
        let seen = -1;
        let lookedAt = -Infinity;
        let sentAt = -Infinity;
        while (!at.ended.aborted && isOpen(session)) {
          const now = clock.monotonic();
          let restMs = LOOK_MS;
          if (seen !== version() || now - lookedAt >= RIGHTS_MS) {
            seen = version();
            lookedAt = now;
            const found = (await at.mark()) ?? 'gone';
            restMs = Math.max(LOOK_MS, (clock.monotonic() - now) * REST);
            if (found !== last) {
              last = found;
              sentAt = now;
              await at.send('mark', found);
            }
          }
          if (clock.monotonic() - sentAt >= ALIVE_MS) {
            sentAt = clock.monotonic();
            await at.send('alive');
          }
          await clock.sleep(Math.min(restMs, ALIVE_MS), at.ended).catch(() => undefined);
        }
      }
    },
  };
};
