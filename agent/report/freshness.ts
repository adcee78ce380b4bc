/**
 * How far what was read of OpenWRT may still be reported, from how the looks at it end and how long
 * one waits. From the first look that is not answered, or that finds something else, nothing
 * becomes newly true; what was true is reported for a moment, since a web server that restarts or
 * one call that is lost must not make all rules of the pod flap. Readiness tolerates a little more.
 */
import type { Clock } from '#shared/runtime/clock.ts';
import type { Attempt, Moment } from '../reconcile/loop.ts';

/** Wall clock, milliseconds; both are times at which a look or a pass began. */
export type Verified = {
  /** Since when each look found OpenWRT as the agent had left it. */
  since: number;
  last: number;
};

/** `silent`: OpenWRT does not answer. `unread`: it does, and what it has by now was not read. */
export type Reading = 'holds' | 'unread' | 'silent';

export type Freshness = {
  add: (attempt: Attempt, begun: Moment) => void;
  /** Everything of OpenWRT was read. */
  read: () => void;
  /**
   * Until the signal aborts: what was read is reported for no longer than OpenWRT may be silent,
   * also while an attempt waits for it.
   */
  watch: (signal: AbortSignal) => Promise<void>;
  /** Why what was read may not hold any more; '' when it does. */
  doubt: () => string;
  /** Whether what was read may be reported. */
  reading: () => Reading;
  /** Whether OpenWRT counts as answering, for readiness. */
  reachable: () => boolean;
  verified: () => Verified | undefined;
  /** How many of the relevant seconds that began after `since` a look has come to. */
  secondsSeen: () => number;
};

/** Without an answer, from the beginning of that call; what may take long counts from its end. */
export const SILENCE_MS = 5_000;
/** From an answer with other content until that was read. */
export const UNREAD_MS = 1_000;
/**
 * The kubelet reports the second in which OpenWRT has started, of a time that it may take a second
 * late: what was found in the second after that is reported at once
 * (`coordinator/rule-status/unread.ts`).
 */
const SECONDS_SEEN = 2;
export const CHANGED =
  'it has restarted, or another user or program has changed it, and the agent has not finished with it since';

export const NO_ANSWER = 'OpenWRT has not answered for five seconds';

type FreshnessDeps = {
  clock: Pick<Clock, 'monotonic' | 'after' | 'sleep'>;
  /** `Driver.unansweredSince` */
  unansweredSince: () => number | undefined;
  onChange: () => void;
};

export const createFreshness = ({ clock, unansweredSince, onChange }: FreshnessDeps): Freshness => {
  let doubt = '';
  let reading: Reading = 'silent';
  let verified: Verified | undefined;
  /** When the first of the attempts in a row without an answer ended; undefined after an answer. */
  let failingSince: number | undefined = -Infinity;
  let reachable = false;
  let pending: { next: Reading; cancel: () => void } | undefined;

  const become = (next: Reading): void => {
    pending?.cancel();
    pending = undefined;
    reading = next;
  };
  const becomeIn = (ms: number, next: Reading): void => {
    if (reading === next || pending) return;
    if (ms <= 0) return become(next);
    const cancel = clock.after(ms, () => {
      become(next);
      onChange();
    });
    pending = { next, cancel };
  };
  const unanswered = (message: string): void => {
    const now = clock.monotonic();
    failingSince ??= now;
    reachable = now - failingSince < SILENCE_MS;
    doubt = message;
    becomeIn(untilSilent(), 'silent');
  };
  const untilSilent = (): number => {
    const now = clock.monotonic();
    return (unansweredSince() ?? now) + SILENCE_MS - now;
  };
  const answered = (): void => {
    failingSince = undefined;
    reachable = true;
    if (pending?.next === 'silent') become(reading);
    if (reading === 'silent') become('unread');
  };

  return {
    add: (attempt, begun) => {
      const { outcome } = attempt;
      if (outcome === 'unanswered') return unanswered(attempt.message);
      answered();
      if (outcome === 'differs') {
        doubt = CHANGED;
        becomeIn(UNREAD_MS, 'unread');
      } else if (outcome === 'unchanged' || outcome === 'passed') {
        const since = doubt === '' ? verified?.since : undefined;
        verified = { since: since ?? begun.wall, last: begun.wall };
        doubt = '';
        become('holds');
      }
    },
    read: () => become('holds'),
    watch: async (signal) => {
      while (!signal.aborted) {
        const leftMs = untilSilent();
        if (leftMs <= 0 && reading !== 'silent') {
          unanswered(NO_ANSWER);
          onChange();
        }
        await clock.sleep(leftMs > 0 ? leftMs : SILENCE_MS, signal).catch(() => undefined);
      }
    },
    doubt: () => doubt,
    reading: () => reading,
    reachable: () => reachable,
    verified: () => verified,
    secondsSeen: () =>
      verified === undefined
        ? 0
        : Math.min(SECONDS_SEEN, secondOf(verified.last) - secondOf(verified.since)),
  };
};

const secondOf = (ms: number): number => Math.floor(ms / 1_000);
