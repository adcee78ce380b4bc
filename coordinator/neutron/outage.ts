/**
 * Why Neutron cannot be brought to what policies ask for, and when it is tried again: its own
 * backoff, so that a pod that changes does not call a Neutron that is down.
 */
import { createBackoff } from '#shared/runtime/backoff.ts';
import type { Clock } from '#shared/runtime/clock.ts';
import { messageOf } from '#shared/runtime/errors.ts';
import { own } from '#shared/util/own.ts';
import type { NeutronError } from './errors.ts';

export type OutageReason =
  | 'InvalidCloud'
  | 'Unauthorized'
  | 'Forbidden'
  | 'Unreachable'
  | 'Timeout'
  | 'Malformed'
  | 'NeutronFailed'
  | 'Refused'
  | 'NoNodes';

/** `message`: stays the same as long as the cause does, and repeats no secret. */
export type OutageCause = { reason: OutageReason; message: string };

export type Outages = {
  /** Milliseconds until the next try; 0: now. */
  waitMs: () => number;
  /** Milliseconds since the first try that failed had begun; 0: the last one has not failed. */
  lastsMs: () => number;
  /** A try that began at that monotonic time has failed. Returns milliseconds until the next. */
  failed: (startedAt: number) => number;
  over: () => void;
};

/** From the longest wait on Neutron is called twice to ten times in a minute and a half. */
const BACKOFF = { baseMs: 250, maxMs: 30_000 };

export const createOutages = (
  clock: Pick<Clock, 'monotonic'>,
  random: () => number = Math.random,
): Outages => {
  const backoff = createBackoff({ ...BACKOFF, random });
  let lasting: { since: number; tryAt: number } | undefined;
  return {
    waitMs: () => Math.max(0, (lasting?.tryAt ?? 0) - clock.monotonic()),
    lastsMs: () => (lasting ? clock.monotonic() - lasting.since : 0),
    failed: (startedAt) => {
      const waitMs = backoff.next();
      lasting = { since: lasting?.since ?? startedAt, tryAt: clock.monotonic() + waitMs };
      return waitMs;
    },
    over: () => {
      lasting = undefined;
      backoff.reset();
    },
  };
};

/** These do not pass by themselves. */
const LASTING: ReadonlySet<OutageReason> = new Set(['InvalidCloud', 'Unauthorized', 'Forbidden']);
/** A Neutron that is restarted, or one lost answer, is not worth an Event. */
const WORTH_TELLING_MS = 5_000;

export const isWorthTelling = ({ reason }: OutageCause, lastsMs: number): boolean =>
  LASTING.has(reason) || lastsMs >= WORTH_TELLING_MS;

export const causeOf = (error: NeutronError): OutageCause => {
  const { status, type } = error;
  if (status === 0) return own(OWN_CAUSES, type)?.(error) ?? UNREACHABLE;
  if (status === 401)
    return { reason: 'Unauthorized', message: 'OpenStack refuses the credentials of clouds.yaml' };
  if (status === 403)
    return {
      reason: 'Forbidden',
      message: `the role of the credentials in clouds.yaml is not enough (${type})`,
    };
  if (status >= 500)
    return { reason: 'NeutronFailed', message: `OpenStack answers with ${status}` };
  return { reason: 'Refused', message: `OpenStack refuses a call with ${status} (${type})` };
};

/** A cause at the API server, not Neutron: groups without nodes' addresses would cut probes. */
export const NO_NODES: OutageCause = {
  reason: 'NoNodes',
  message:
    'the coordinator may not list nodes, whose addresses have to be let in; ClusterRole sdewan-coordinator of this version gives it that right',
};

const UNREACHABLE: OutageCause = {
  reason: 'Unreachable',
  message: 'OpenStack cannot be reached',
};

const OWN_CAUSES: Readonly<Record<string, (error: NeutronError) => OutageCause>> = {
  InvalidCloud: ({ cause }) => ({ reason: 'InvalidCloud', message: messageOf(cause) }),
  Timeout: () => ({ reason: 'Timeout', message: 'OpenStack does not answer in time' }),
  Malformed: () => ({
    reason: 'Malformed',
    message: 'what answers is not the OpenStack that is expected',
  }),
};
