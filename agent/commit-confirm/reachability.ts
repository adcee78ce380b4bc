/**
 * The targets that the agent must go on reaching, and whether it does: seen by new connections
 * only, name lookup included.
 */
import type { KubeConfig } from '#shared/kube/config.ts';
import type { Clock } from '#shared/runtime/clock.ts';
import { withDeadline } from '#shared/runtime/deadline.ts';
import { connectOnce } from '../io/connect.ts';

export type Target = {
  /** For people. */
  name: string;
  /** One new connection. Rejects when the target is not reached, or the signal aborts. */
  connect: (signal: AbortSignal) => Promise<void>;
  /** So long a change waits for it, where it is not known to answer. */
  patienceMs: number;
};

/** A TCP connection is enough, and no change waits for long: that one is lost undoes nothing. */
export const coordinatorAt = (url: string): Target => ({
  name: `the coordinator at ${new URL(url).host}`,
  patienceMs: 500,
  connect: (signal) => connectOnce({ url: tcpOf(new URL(url)), tls: {} }, signal),
});

export const apiServerAt = ({ server, tls }: Pick<KubeConfig, 'server' | 'tls'>): Target => ({
  name: 'the API server',
  // A change is not watched where it does not answer. On an overloaded node half a second was too
  // little, and the agent stayed cut off (measured).
  patienceMs: 3_000,
  connect: async (signal) => {
    const { ca, servername, rejectUnauthorized } = await tls();
    await connectOnce(
      { url: new URL(server), tls: { ca, servername, rejectUnauthorized } },
      signal,
    );
  },
});

const tcpOf = ({ protocol, hostname, port }: URL): URL =>
  new URL(`http://${hostname}:${port || (protocol === 'https:' ? 443 : 80)}`);

export type Targets = {
  /** Those that answered in the last ten seconds; others are asked now, while a change waits. */
  answering: (signal: AbortSignal) => Promise<readonly Target[]>;
  /**
   * Those of the given ones that answer on none of three new connections within five seconds, in
   * which this process has run.
   */
  lost: (targets: readonly Target[], signal: AbortSignal) => Promise<readonly Target[]>;
};

/** What a look has shown holds for so long. */
const KNOWN_FOR_MS = 10_000;
/** When the three connections begin; each may take until the end of the look. */
const BEGINS_MS = [0, 1_700, 3_400];
const LOOK_MS = 5_000;
/**
 * A timer that is later by so much shows that this process stood still, as in a virtual machine
 * that moves to another host: the answer may have come, and was not taken.
 */
const LATE_MS = 1_000;
/** The last look counts where a process stands still again and again. */
const MOST_LOOKS = 3;

type Seen = { at: number; answered: boolean };
type Look = { answered: boolean; hasStalled: boolean };

export const createTargets = (
  all: readonly Target[],
  clock: Pick<Clock, 'monotonic' | 'after' | 'sleep'>,
): Targets => {
  const seen = new Map<Target, Seen>();

  const note = (target: Target, answered: boolean): boolean => {
    seen.set(target, { at: clock.monotonic(), answered });
    return answered;
  };
  const isKnown = (target: Target): boolean => {
    const last = seen.get(target);
    return last !== undefined && clock.monotonic() - last.at < KNOWN_FOR_MS;
  };
  const askOnce = async (target: Target, signal: AbortSignal): Promise<void> => {
    const limits = { timeoutMs: target.patienceMs, clock, signal };
    const answered = await succeeds(withDeadline(limits, (cut) => target.connect(cut)));
    signal.throwIfAborted();
    note(target, answered);
  };
  const look = async (target: Target, signal: AbortSignal): Promise<Look> => {
    const begunAt = clock.monotonic();
    let hasStalled = false;
    const wait = async (ms: number, cut: AbortSignal): Promise<void> => {
      await clock.sleep(ms, cut);
      hasStalled ||= clock.monotonic() - begunAt > ms + LATE_MS;
    };
    const found = new AbortController();
    const until = AbortSignal.any([signal, found.signal]);
    const rest = wait(LOOK_MS, until).catch(() => undefined);
    const one = async (afterMs: number, cut: AbortSignal): Promise<void> => {
      if (afterMs > 0) await wait(afterMs, cut);
      await target.connect(cut);
    };
    const limits = { timeoutMs: LOOK_MS, clock, signal: until };
    const answered = await succeeds(
      withDeadline(limits, (cut) => Promise.any(BEGINS_MS.map((ms) => one(ms, cut)))),
    );
    if (answered) found.abort();
    // A refusal returns at once; a target is lost only if it fails for the whole look.
    await rest;
    signal.throwIfAborted();
    return { answered, hasStalled };
  };
  const answersInALook = async (target: Target, signal: AbortSignal): Promise<boolean> => {
    for (let looks = 1; ; looks += 1) {
      const { answered, hasStalled } = await look(target, signal);
      if (answered || !hasStalled || looks === MOST_LOOKS) return note(target, answered);
    }
  };

  return {
    answering: async (signal) => {
      await Promise.all(all.filter((one) => !isKnown(one)).map((one) => askOnce(one, signal)));
      return all.filter((one) => seen.get(one)?.answered === true);
    },
    lost: async (targets, signal) => {
      const answered = await Promise.all(targets.map((one) => answersInALook(one, signal)));
      return targets.filter((_one, at) => answered[at] === false);
    },
  };
};

const succeeds = (work: Promise<unknown>): Promise<boolean> =>
  work.then(
    () => true,
    () => false,
  );
