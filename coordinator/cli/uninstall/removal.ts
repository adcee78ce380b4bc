/**
 * Deletes Kubernetes objects until there are none, even if others create new ones meanwhile.
 * Generic: nothing in it is about this product.
 */
import * as z from 'zod';
import type { KubeClient, Selection } from '#shared/kube/client.ts';
import { isNotFound, isOutdated, KubeError } from '#shared/kube/errors.ts';
import type { KubeObject, ResourceType } from '#shared/kube/objects.ts';
import { atOnce } from '#shared/util/at-once.ts';
import { systemClock, type Clock } from '#shared/runtime/clock.ts';

export type Found = { resource: ResourceType; object: KubeObject };

export type RemovalDeps = {
  client: Pick<KubeClient, 'list' | 'delete'>;
  clock: Clock;
  /** One line for the person who runs it. */
  say: (line: string) => void;
};

const LOOK_INTERVAL_MS = 500;
const TELL_INTERVAL_MS = 10_000;
const AT_ONCE = 16;
const ATTEMPTS = 20;
const TOO_MANY_REQUESTS = 429;
const UNAVAILABLE = 503;

/** Empty where the API server does not know the resource. @throws KubeError */
export const findAll = async (
  client: Pick<KubeClient, 'list'>,
  resources: readonly ResourceType[],
  selection: Selection & { signal: AbortSignal },
): Promise<Found[]> => {
  const lists = await Promise.all(
    resources.map(async (resource) => {
      const { items } = await patiently(selection.signal, () =>
        client.list(resource, selection),
      ).catch((error: unknown) => {
        if (isNotFound(error)) return { items: [] };
        throw error;
      });
      return items.map((object) => ({ resource, object }));
    }),
  );
  return lists.flat();
};

/** An API server that is overloaded, or that has just got a new kind, asks to come again. */
const patiently = async <T>(signal: AbortSignal, call: () => Promise<T>): Promise<T> => {
  for (let attempt = 1; ; attempt += 1) {
    try {
      return await call();
    } catch (error) {
      if (!(error instanceof KubeError) || attempt === ATTEMPTS) throw error;
      if (error.status !== TOO_MANY_REQUESTS && error.status !== UNAVAILABLE) throw error;
      await systemClock.sleep(error.retryAfterMs ?? LOOK_INTERVAL_MS, signal);
    }
  }
};

export type Clearing = {
  what: string;
  find: () => Promise<Found[]>;
  timeoutMs: number;
  /** What they own stays. Default: it goes with them. */
  leavesDependents?: true;
  signal: AbortSignal;
};

/**
 * Resolves when `find` finds nothing more, or with what is left after `timeoutMs`. @throws
 * KubeError, or the signal's reason
 */
export const clear = async (
  { client, clock, say }: RemovalDeps,
  { what, find, timeoutMs, leavesDependents, signal }: Clearing,
): Promise<Found[]> => {
  const propagationPolicy = leavesDependents ? 'Orphan' : 'Foreground';
  const begun = clock.monotonic();
  let toldAt = begun;
  for (let first = true; ; first = false) {
    const found = await find();
    const now = clock.monotonic();
    if (found.length === 0) {
      if (!first) say(`${what}: deleted`);
      return [];
    }
    if (now - begun >= timeoutMs) return found;
    if (first || now - toldAt > TELL_INTERVAL_MS) {
      say(`${what}: ${found.length} remaining`);
      toldAt = now;
    }
    await removeEach(client, found, { propagationPolicy, signal });
    await clock.sleep(LOOK_INTERVAL_MS, signal);
  }
};

type RemoveOptions = { propagationPolicy: 'Orphan' | 'Foreground'; signal: AbortSignal };

const removeEach = async (
  client: Pick<KubeClient, 'delete'>,
  found: readonly Found[],
  options: RemoveOptions,
): Promise<void> => {
  const waiting = found.filter(({ object }) => object.metadata.deletionTimestamp === undefined);
  await atOnce(waiting, AT_ONCE, (one) => removeOne(client, one, options));
};

/**
 * Only what was seen: another object of that name is found by the next look. Foreground: with its
 * dependents, so that no pod outlives it.
 */
const removeOne = async (
  client: Pick<KubeClient, 'delete'>,
  { resource, object: { metadata } }: Found,
  options: RemoveOptions,
): Promise<void> => {
  const { namespace, name, uid } = metadata;
  await client
    .delete(resource, { namespace, name }, { ...options, preconditions: { uid } })
    .catch((error: unknown) => {
      if (!isOutdated(error)) throw error;
    });
};

const conditionsSchema = z.looseObject({
  status: z.looseObject({
    conditions: z.array(
      z.looseObject({
        type: z.string(),
        status: z.string(),
        reason: z.string().default(''),
        message: z.string().default(''),
      }),
    ),
  }),
});
/** Conditions of CustomResourceDefinitions and Namespaces. */
const OF_DELETION = /^Terminating$|^Namespace.*(Remaining|Failure)$/;

/** Why an object is still there while it is deleted, in the API server's words; may be empty. */
export const deletionProblemsOf = ({ object }: Found): { reason: string; message: string }[] =>
  (conditionsSchema.safeParse(object).data?.status.conditions ?? [])
    .filter(({ type, status }) => OF_DELETION.test(type) && status === 'True')
    .map(({ reason, message }) => ({ reason, message }));
