/**
 * Which of several replicas writes: the holder of a Lease, and it only as long as it has renewed
 * it. Every write of a program that runs more than once goes through here: controllers work in
 * terms (`lead`), and a client made by `leadersClient` starts no write outside of one. Of our own,
 * since client-node has no election, and those made for it look at no write: a process that was
 * stopped for a minute would go on where it was. Here the clock is asked before each write, and
 * what was sent before is fenced (fenced.ts, owned.ts).
 */
import { aborted } from '../runtime/aborted.ts';
import { jittered } from '../runtime/backoff.ts';
import type { Clock } from '../runtime/clock.ts';
import { messageOf } from '../runtime/errors.ts';
import type { Logger } from '../runtime/log.ts';
import type { KubeClient } from './client.ts';
import { KubeError } from './errors.ts';
import type { HeldLease } from './lease.ts';
import { resourceName } from './path.ts';

export type Leadership = {
  /** The number of the term, which no other replica has; undefined: this one may not write now. */
  term: () => number | undefined;
  /**
   * Runs `work` once in each term; its signal aborts when the term ends. Resolves when `signal`
   * aborts and the work has ended.
   */
  lead: (work: (signal: AbortSignal) => Promise<void>, signal: AbortSignal) => Promise<void>;
  /** Renews the Lease soon, because what it hands over has changed. */
  renew: () => void;
  /**
   * `work` runs when this replica stops while it leads: after all other work of the term has ended,
   * before the Lease is given up.
   */
  beforeRelease: (work: () => Promise<void>) => void;
};

export type ElectionOptions = { lease: HeldLease; clock: Clock; log: Logger };

export type Election = Leadership & {
  /** Tries to lead until the signal aborts; waits for the work of the term; gives the Lease up. */
  run: (signal: AbortSignal) => Promise<void>;
};

export const LEASE_MS = 10_000;
/** A term ends so long after its last renewal began; the rest of the Lease is for work in hand. */
const RENEW_WITHIN_MS = 7_000;
const RETRY_MS = 2_000;
const JITTER = 0.1;
const ATTEMPT_TIMEOUT_MS = 3_000;

type Term = { number: number; until: number; end: AbortController };

export const createElection = ({ lease, clock, log }: ElectionOptions): Election => {
  let current: Term | undefined;
  const waiting: ((term: Term | undefined) => void)[] = [];
  const working = new Set<Promise<void>>();
  const last: (() => Promise<void>)[] = [];
  let failing = false;
  let resting = new AbortController();

  const isValid = (term: Term): boolean => clock.monotonic() < term.until;

  const begin = (number: number, until: number): void => {
    const term: Term = { number, until, end: new AbortController() };
    current = term;
    expireInTime(term);
    log.info({ term: number }, 'this replica leads');
    for (const resolve of waiting.splice(0)) resolve(term);
  };

  const end = (why: string): void => {
    if (!current) return;
    log.warn({ term: current.number, reason: why }, 'this replica does not lead any more');
    current.end.abort();
    current = undefined;
  };

  const expireInTime = (term: Term): void => {
    const look = (): void => {
      if (isValid(term)) cancel = clock.after(term.until - clock.monotonic(), look);
      else end('the Lease was not renewed in time');
    };
    let cancel = clock.after(term.until - clock.monotonic(), look);
    term.end.signal.addEventListener('abort', () => cancel(), { once: true });
  };

  const attempt = async (signal: AbortSignal): Promise<void> => {
    const until = clock.monotonic() + RENEW_WITHIN_MS;
    const number = await lease.hold({ signal, timeoutMs: ATTEMPT_TIMEOUT_MS });
    if (number === undefined) end('another replica holds the Lease');
    // What was not done after the term had ended would be missing in it.
    if (current && !isValid(current)) end('the Lease was not renewed in time');
    if (number === undefined || clock.monotonic() >= until) return;
    if (current) current.until = until;
    else begin(number, until);
  };

  const nextTerm = (signal: AbortSignal): Promise<Term | undefined> =>
    new Promise((resolve) => {
      waiting.push(resolve);
      void aborted(signal).then(() => resolve(undefined));
    });

  return {
    term: () => (current && isValid(current) ? current.number : undefined),
    lead: async (work, signal) => {
      while (!signal.aborted) {
        const term = current ?? (await nextTerm(signal));
        if (!term) return;
        const both = AbortSignal.any([signal, term.end.signal]);
        const task = work(both);
        working.add(task);
        await task.finally(() => working.delete(task));
        await aborted(both);
      }
    },
    renew: () => resting.abort(),
    beforeRelease: (work) => void last.push(work),
    run: async (signal) => {
      void aborted(signal).then(() => resting.abort());
      while (!signal.aborted) {
        resting = new AbortController();
        try {
          await attempt(signal);
          failing = false;
        } catch (error) {
          if (!failing && !signal.aborted)
            log.warn({ reason: messageOf(error) }, 'failed to read or write the Lease, retrying');
          failing = true;
        }
        await clock.sleep(jittered(RETRY_MS, JITTER), resting.signal).catch(() => undefined);
      }
      await Promise.allSettled(working);
      if (current) await Promise.allSettled(last.map((work) => work()));
      current?.end.abort();
      current = undefined;
      await lease
        .release({ timeoutMs: ATTEMPT_TIMEOUT_MS })
        .catch((error: unknown) =>
          log.warn({ reason: messageOf(error) }, 'failed to release the Lease'),
        );
    },
  };
};

const REVIEWS: ReadonlySet<string> = new Set(['authentication.k8s.io', 'authorization.k8s.io']);

/**
 * A write outside of a term is a KubeError with reason `NotLeading`. Reviews of tokens and rights
 * write nothing, and everybody may ask for them.
 */
export const leadersClient = (
  client: KubeClient,
  { term }: Pick<Leadership, 'term'>,
): KubeClient => {
  const check = (verb: string, resource: Parameters<typeof resourceName>[0]): void => {
    if (term() !== undefined) return;
    throw new KubeError(`${verb} ${resourceName(resource)}`, 'this replica does not lead', {
      status: 0,
      reason: 'NotLeading',
    });
  };
  return {
    ...client,
    create: async (r, ...rest) => {
      if (!REVIEWS.has(r.group)) check('create', r);
      return client.create(r, ...rest);
    },
    replace: async (r, ...rest) => {
      check('replace', r);
      return client.replace(r, ...rest);
    },
    patch: async (r, ...rest) => {
      check('patch', r);
      return client.patch(r, ...rest);
    },
    delete: async (r, ...rest) => {
      check('delete', r);
      return client.delete(r, ...rest);
    },
  };
};
