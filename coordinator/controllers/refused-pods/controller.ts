/**
 * Wakes the controllers of CNFs that lack pods. While no coordinator answered the webhook of pods,
 * each of their tries was refused, and they wait ever longer, for minutes; any change of the object
 * makes them try at once. So a coordinator that begins to lead patches one annotation, which the
 * policy sdewan-coordinator-retries lets it do and nothing else, again and again for half a minute
 * where pods are still missing.
 */
import * as z from 'zod';
import { PAGE_SIZE, type KubeClient } from '#shared/kube/client.ts';
import { isForbidden, isInvalid, isOutdated } from '#shared/kube/errors.ts';
import type { Leadership } from '#shared/kube/leadership.ts';
import {
  identityOf,
  objectSchema,
  type KubeObject,
  type ResourceType,
} from '#shared/kube/objects.ts';
import { RETRIED_AT_ANNOTATION, PURPOSE_LABEL } from '#shared/names.ts';
import type { Clock } from '#shared/runtime/clock.ts';
import type { Logger } from '#shared/runtime/log.ts';
import { Turns } from '#shared/util/turns.ts';

export type RefusedPodsDeps = {
  client: Pick<KubeClient, 'list' | 'patch'>;
  leadership: Leadership;
  /** The only one to look after; undefined: all. */
  namespace: string | undefined;
  /** Whether this coordinator answers webhooks. */
  isReady: () => boolean;
  clock: Clock;
  log: Logger;
};

type Owner = KubeObject & { lacks: boolean };

const INTERVAL_MS = 2_000;
const ROUNDS = 15;

const count = z.int().optional();
const countsSchema = objectSchema.extend({
  spec: z.object({ replicas: count }),
  status: z
    .object({ replicas: count, desiredNumberScheduled: count, currentNumberScheduled: count })
    .optional(),
});

/** Only what is looked at stays. */
const ownerSchema = countsSchema.transform((object): Owner => {
  const { kind, metadata, spec, status } = object;
  const { replicas = 0, desiredNumberScheduled = 0, currentNumberScheduled = 0 } = status ?? {};
  const missing =
    kind === 'DaemonSet'
      ? desiredNumberScheduled - currentNumberScheduled
      : (spec.replicas ?? 1) - replicas;
  return {
    ...identityOf(object),
    lacks: missing > 0 && metadata.deletionTimestamp === undefined,
  };
});

const owners: readonly ResourceType<Owner>[] = [
  { plural: 'replicasets', kind: 'ReplicaSet' },
  { plural: 'statefulsets', kind: 'StatefulSet' },
  { plural: 'daemonsets', kind: 'DaemonSet' },
].map((named) => ({ group: 'apps', version: 'v1', ...named, schema: ownerSchema }));

export const createRefusedPodsController = (
  deps: RefusedPodsDeps,
): { run: (signal: AbortSignal) => Promise<void> } => {
  const { client, clock, leadership, log, namespace } = deps;

  const makeRetry = async (
    resource: ResourceType<Owner>,
    { kind, metadata }: Owner,
    signal: AbortSignal,
  ): Promise<void> => {
    const { uid, name, namespace: where } = metadata;
    const annotations = { [RETRIED_AT_ANNOTATION]: new Date(clock.now()).toISOString() };
    // Its uid alone: its status changes all the time, and nothing rests on that.
    const patch = { type: 'merge', body: { metadata: { uid, annotations } } } as const;
    try {
      await client.patch(resource, { namespace: where, name }, { patch, signal });
      log.info(
        { owner: `${kind} ${where}/${name}` },
        'asked the controller of a CNF for its missing pods',
      );
    } catch (error) {
      if (isOutdated(error)) return;
      // One that the API server refuses, whatever its author did to it, keeps no other waiting.
      if (!isForbidden(error) && !isInvalid(error)) throw error;
      log.warn({ err: error }, 'failed to ask the controller of a CNF for its missing pods');
    }
  };

  const round = async (signal: AbortSignal): Promise<void> => {
    const selection = { namespace, labelSelector: PURPOSE_LABEL, pageSize: PAGE_SIZE, signal };
    // A user with the right to make ReplicaSets can make thousands that never get their pods.
    const lacking = new Turns<{ resource: ResourceType<Owner>; owner: Owner }>();
    for (const resource of owners) {
      const { items } = await client.list(resource, selection);
      for (const owner of items)
        if (owner.lacks) lacking.add(owner.metadata.namespace, { resource, owner });
    }
    for (let next = lacking.take(); next; next = lacking.take())
      await makeRetry(next.resource, next.owner, signal);
  };

  const term = async (signal: AbortSignal): Promise<void> => {
    for (let rounds = 0; rounds < ROUNDS && !signal.aborted; rounds += deps.isReady() ? 1 : 0) {
      if (deps.isReady())
        await round(signal).catch((err: unknown) => {
          if (!signal.aborted)
            log.warn({ err }, 'failed to ask the controllers of CNFs for missing pods');
        });
      await clock.sleep(INTERVAL_MS, signal).catch(() => undefined);
    }
  };

  return { run: (signal) => leadership.lead(term, signal) };
};
