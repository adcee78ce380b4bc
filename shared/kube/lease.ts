/**
 * One object of the API server that says who leads: read, judged and written with its
 * resourceVersion, so of several replicas one wins. A Lease counts as given up when it has not
 * changed for its duration as seen from here, so clocks need not agree.
 */
import * as z from 'zod';
import type { Clock } from '../runtime/clock.ts';
import type { CallOptions, KubeClient } from './client.ts';
import { isConflict } from './errors.ts';
import { objectSchema, resourceV1 } from './objects.ts';
import { find } from './owned.ts';
import { apiVersionOf, type ObjectKey } from './path.ts';
import { HANDOVER_ANNOTATION } from '../names.ts';

const leaseSchema = objectSchema.extend({
  spec: z
    .object({
      /** Empty once it was released. */
      holderIdentity: z.string().optional(),
      acquireTime: z.string().optional(),
      /** How often the holder has changed. */
      leaseTransitions: z.int().optional(),
    })
    .default({}),
});
type Lease = z.infer<typeof leaseSchema>;

const leases = resourceV1('coordination.k8s.io', 'leases', 'Lease', leaseSchema);

/** What the holder leaves to the next one, as text; '' is nothing. */
export type Handover = {
  /** What the Lease has, before each write of it. */
  read: (text: string) => void;
  /** What it is to have. */
  write: () => string;
};

export type LeaseOptions = {
  client: Pick<KubeClient, 'get' | 'create' | 'replace'>;
  key: ObjectKey;
  /**
   * This replica's, never that of two at a time. One that comes back under the identity of the
   * holder is its successor, and need not wait until the Lease has run out.
   */
  identity: string;
  durationMs: number;
  handover: Handover;
  clock: Clock;
};

export type HeldLease = {
  /**
   * Takes or renews it. The number of our term, undefined while another holds. @throws KubeError
   */
  hold: (call: CallOptions) => Promise<number | undefined>;
  /** Gives it up, if it is ours. @throws KubeError */
  release: (call: CallOptions) => Promise<void>;
};

export const createLease = ({
  client,
  key,
  identity,
  durationMs,
  handover,
  clock,
}: LeaseOptions): HeldLease => {
  /** The version of the Lease that was seen last, and since when. */
  let seen: { resourceVersion: string; at: number } | undefined;
  /** The highest number seen, which outlives the object. */
  let transitions = 0;
  let isOurs = false;

  const observe = (lease: Lease): void => {
    const { resourceVersion } = lease.metadata;
    if (seen?.resourceVersion !== resourceVersion)
      seen = { resourceVersion, at: clock.monotonic() };
    transitions = Math.max(transitions, lease.spec.leaseTransitions ?? 0);
  };

  const isFree = ({ spec: { holderIdentity = '' } }: Lease): boolean =>
    holderIdentity === '' ||
    holderIdentity === identity ||
    clock.monotonic() - (seen?.at ?? Infinity) >= durationMs;

  const readHandover = ({ metadata }: Lease): void =>
    handover.read(metadata.annotations?.[HANDOVER_ANNOTATION] ?? '');

  const write = async (present: Lease | undefined, spec: object, call: CallOptions) => {
    const { annotations, resourceVersion, ...others } = present?.metadata ?? {};
    const metadata = {
      // What others have put there stays: a policy refuses a write that takes a finalizer away.
      ...others,
      ...key,
      ...(resourceVersion !== undefined && { resourceVersion }),
      annotations: { ...annotations, [HANDOVER_ANNOTATION]: handover.write() },
    };
    const body = { apiVersion: apiVersionOf(leases), kind: leases.kind, metadata, spec };
    observe(
      await (present ? client.replace(leases, body, call) : client.create(leases, body, call)),
    );
  };

  const specOf = (acquireTime: string | undefined) => {
    const now = microTime(clock.now());
    return {
      holderIdentity: identity,
      leaseDurationSeconds: durationMs / 1_000,
      acquireTime: acquireTime ?? now,
      renewTime: now,
      leaseTransitions: transitions,
    };
  };

  return {
    hold: async (call) => {
      const present = await find(client, leases, key, call);
      if (present) observe(present);
      if (present && !isFree(present)) {
        isOurs = false;
        return undefined;
      }
      if (present) readHandover(present);
      isOurs &&= present?.spec.holderIdentity === identity;
      if (!isOurs) transitions += 1;
      try {
        await write(present, specOf(isOurs ? present?.spec.acquireTime : undefined), call);
      } catch (error) {
        isOurs = false;
        // Another replica was faster.
        if (isConflict(error)) return undefined;
        throw error;
      }
      isOurs = true;
      return transitions;
    },
    release: async (call) => {
      const present = await find(client, leases, key, call);
      isOurs = false;
      if (present?.spec.holderIdentity !== identity) return;
      readHandover(present);
      await write(present, { ...specOf(undefined), holderIdentity: '' }, call);
    },
  };
};

/** As Kubernetes' MicroTime has it. */
const microTime = (ms: number): string => new Date(ms).toISOString().replace('Z', '000Z');
