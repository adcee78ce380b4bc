/**
 * Reads NetworkPolicies, pods and namespaces, watches nodes; owns and writes the security groups and address groups in Neutron that bear our prefix
 * and this cluster's mark, which of them the ports of pods have, and annotation `policy-groups` of these pods. Policies and pods get Events.
 * What Neutron has is read whole now and then and after any doubt; between, what was written is known.
 */
import * as z from 'zod';
import type { KubeClient } from '#shared/kube/client.ts';
import {
  createController,
  OVERTAKEN,
  type ControllerDeps,
  type Outcome,
} from '#shared/kube/controller.ts';
import { isForbidden, isOutdated } from '#shared/kube/errors.ts';
import type { RecordedEvent } from '#shared/kube/events.ts';
import { identityOf, objectSchema, resourceV1, type KubeObject } from '#shared/kube/objects.ts';
import { Reflector } from '#shared/kube/informer/reflector.ts';
import { POLICY_GROUPS_ANNOTATION } from '#shared/names.ts';
import { podResource } from '../../sources/workload.ts';
import { groupsMark, type AnyPolicy, type WatchedPod } from '../network-policy/kept.ts';
import type { PolicyWorld } from '../network-policy/sources.ts';
import { isAbsent, isOvertakenInNeutron, NeutronError } from '../../neutron/errors.ts';
import type { Neutron } from '../../neutron/neutron.ts';
import { createAnnouncer } from './events.ts';
import { applySteps } from './apply.ts';
import { portClaimsOf, namedPorts, type PodWithPorts, type PortClaims } from './claims.ts';
import { createMembers } from './members.ts';
import { clusterMark, prefixOf } from './names.ts';
import { causeOf, createOutages, isWorthTelling, NO_NODES, type OutageCause } from './outage.ts';
import { stepsFor } from './plan.ts';
import { selectorsOf } from './policy-parts.ts';
import { readPresent, type PresentInNeutron } from './present.ts';
import { wantedOf, type WantedResult } from './wanted.ts';

export type SecurityGroupsDeps = ControllerDeps & {
  client: KubeClient;
  world: PolicyWorld;
  neutron: Neutron;
  /** Between whole looks at Neutron. */
  resyncMs: number;
  record: (event: RecordedEvent) => void;
  /** Takes what tells for how many milliseconds Neutron has failed; 0 while it does not. */
  exposeFailing: (lastsMs: () => number) => void;
};

export type SecurityGroupsController = {
  run: (signal: AbortSignal) => Promise<void>;
};

type WatchedNode = KubeObject & { addresses: readonly string[] };

const nodeResource = resourceV1(
  '',
  'nodes',
  'Node',
  objectSchema
    .extend({
      status: z
        .object({
          addresses: z.array(z.object({ type: z.string(), address: z.string() })).optional(),
        })
        .optional(),
    })
    .transform(({ status, ...object }): WatchedNode => ({
      ...identityOf(object),
      addresses: (status?.addresses ?? [])
        .filter(({ type }) => type === 'InternalIP' || type === 'ExternalIP')
        .map(({ address }) => address),
    })),
);

const KEY = 'all';
const COALESCE_MS = 50;
/** Until the quota is asked for again. */
const QUOTA_AGAIN_MS = 10_000;
/** Somebody else changes things, too; whoever is overtaken so often in a row is refused for another reason. */
const MAX_OVERTAKEN = 6;
/** Whose uid lives as long as the cluster. */
const CLUSTER_NAMESPACE = 'kube-system';

export const createSecurityGroupsController = (
  deps: SecurityGroupsDeps,
): SecurityGroupsController => {
  const { client, clock, log, neutron, record, resyncMs, world } = deps;
  const mark = (): void => controller.mark(KEY);
  /** Undefined: they have changed, or nobody has asked yet. */
  let policies: readonly AnyPolicy[] | undefined;
  const reader = world.join({
    isWanted: () => true,
    onTouched: mark,
    onPolicies: () => {
      policies = undefined;
      mark();
    },
    onPorts: mark,
  });
  const nodes = new Reflector({
    client,
    clock,
    log,
    resource: nodeResource,
    onEvent: ({ type, object, old }) => {
      if (type !== 'updated' || object.addresses.join() !== old.addresses.join()) mark();
    },
    onState: mark,
  });
  let present: PresentInNeutron | undefined;
  let readAt = -Infinity;
  /** Ports that pods name and Neutron did not have when it was last read. */
  let absent = new Set<string>();
  const announcer = createAnnouncer({ world, record, clock });
  const outages = createOutages(clock);
  let overtaken = 0;
  deps.exposeFailing(() => (deps.leadership.term() === undefined ? 0 : outages.lastsMs()));

  const presentNow = async (
    cluster: string,
    named: readonly string[],
    signal: AbortSignal,
  ): Promise<PresentInNeutron> => {
    if (present === undefined || clock.monotonic() >= readAt + resyncMs) {
      present = await readPresent(neutron, cluster, signal);
      readAt = clock.monotonic();
      absent = new Set();
    }
    const { ports } = present;
    const ids = [...new Set(named)].filter((id) => !ports.has(id) && !absent.has(id));
    if (ids.length > 0) {
      const prefix = prefixOf(cluster);
      for (const port of await neutron.ports({ ids }, signal))
        if (port.name.startsWith(prefix)) ports.set(port.id, port);
      for (const id of ids) if (!ports.has(id)) absent.add(id);
    }
    return present;
  };

  const policiesNow = (): readonly AnyPolicy[] => {
    if (policies) return policies;
    policies = world.policies().filter(({ kind }) => kind === 'NetworkPolicy');
    reader.follow(new Map(policies.flatMap(selectorsOf)));
    return policies;
  };

  const wantedNow = async (
    facts: Omit<Parameters<typeof wantedOf>[0], 'quotas'>,
    signal: AbortSignal,
  ): Promise<WantedResult> => {
    const unbound = wantedOf({ ...facts, quotas: undefined });
    if (!unbound.needsQuota) return unbound;
    return wantedOf({ ...facts, quotas: await neutron.quotas(signal) });
  };

  const reconcile = async (_: string, cluster: string, signal: AbortSignal): Promise<Outcome> => {
    const waitMs = outages.waitMs();
    if (waitMs > 0) return { againInMs: waitMs };
    const startedAt = clock.monotonic();
    if (!nodes.state.listed) return failed(NO_NODES, startedAt);
    try {
      const outcome = await bring(cluster, signal);
      outages.over();
      overtaken = 0;
      return outcome;
    } catch (error) {
      // Something may have been done, and something is not as it was thought to be.
      present = undefined;
      if (!(error instanceof NeutronError)) throw error;
      if (isOvertakenInNeutron(error) || isAbsent(error)) {
        overtaken += 1;
        if (overtaken < MAX_OVERTAKEN) return OVERTAKEN;
      }
      const outcome = failed(causeOf(error), startedAt);
      log.warn(
        { err: error, retryInMs: outcome.againInMs },
        'Neutron does not follow policies, retrying',
      );
      return outcome;
    }
  };

  const failed = (cause: OutageCause, startedAt: number): { failed: string; againInMs: number } => {
    const againInMs = outages.failed(startedAt);
    if (isWorthTelling(cause, outages.lastsMs())) {
      const members = createMembers({ ...world.groups, ports: namedPorts(podsWithPorts()) });
      announcer.failing({ policies: policiesNow(), members, cause });
    }
    return { failed: cause.reason, againInMs };
  };

  const podsWithPorts = (): PodWithPorts[] =>
    world
      .podsWithPorts()
      .flatMap(({ pod, inNeutron: { ports } }) =>
        ports === undefined ? [] : [{ pod, annotation: ports }],
      );

  const bring = async (cluster: string, signal: AbortSignal): Promise<Outcome> => {
    const watched = world.podsWithPorts();
    const withPorts = podsWithPorts();
    const named = namedPorts(withPorts).map(({ id }) => id);
    const there = await presentNow(cluster, named, signal);
    const claims = portClaimsOf(withPorts, there.ports);
    const result = await wantedNow(
      {
        cluster,
        policies: policiesNow(),
        members: createMembers({ ...world.groups, ports: claims.ports }),
        ports: claims.ports.map(({ id }) => id),
        nodeAddresses: nodes.store.list().flatMap(({ addresses }) => addresses),
        present: there,
      },
      signal,
    );
    await applySteps(stepsFor(result.wanted, there), { neutron, present: there, signal });
    const unwritten = await annotate(watched, { claims, present: there }, signal);
    announcer.brought({ policies: policiesNow(), result, claims, present: there, unwritten });
    const isShort = [...result.refused.values()].some(({ reason }) => reason === 'QuotaExceeded');
    if (isShort) return { failed: 'QuotaExceeded', againInMs: Math.min(QUOTA_AGAIN_MS, resyncMs) };
    if (unwritten.length > 0) return { failed: 'Forbidden', againInMs: resyncMs };
    return { againInMs: Math.max(0, readAt + resyncMs - clock.monotonic()) };
  };

  /** The groups are on the port before the annotation says so. Returns pods whose annotation may not be written. */
  const annotate = async (
    watched: readonly WatchedPod[],
    { claims, present: there }: { claims: PortClaims; present: PresentInNeutron },
    signal: AbortSignal,
  ): Promise<WatchedPod[]> => {
    const texts = groupsTexts(claims, there);
    const unwritten: WatchedPod[] = [];
    for (const one of watched) {
      const { pod, inNeutron, metadata } = one;
      const text = texts.get(pod.uid);
      if ((text && groupsMark(text)) === inNeutron.groups) continue;
      const { namespace, name, uid } = metadata;
      const annotations = { [POLICY_GROUPS_ANNOTATION]: text ?? null };
      const patch = { type: 'merge', body: { metadata: { uid, annotations } } } as const;
      try {
        await client.patch(podResource, { namespace, name }, { patch, answer: 'metadata', signal });
      } catch (error) {
        if (isForbidden(error)) unwritten.push(one);
        // Another pod of that name, or none.
        else if (!isOutdated(error)) throw error;
      }
    }
    return unwritten;
  };

  const controller = createController<string>({
    ...deps,
    name: 'security-groups',
    sources: [nodes],
    world: () => {
      const uid = world.namespaceUid(CLUSTER_NAMESPACE);
      const areNodesKnown = nodes.state.listed || nodes.state.phase === 'Forbidden';
      const isKnown = world.isKnown() && areNodesKnown && uid !== undefined;
      return isKnown ? clusterMark(uid) : undefined;
    },
    markAll: () => {
      // Another coordinator may have written, or waited.
      present = undefined;
      outages.over();
      controller.mark(KEY, 0);
    },
    reconcile,
    fieldsOf: () => ({}),
    coalesceMs: COALESCE_MS,
  });
  return { run: controller.run };
};

/** What the annotation says, by the pod's uid. */
const groupsTexts = (
  claims: PortClaims,
  { groups, ports }: PresentInNeutron,
): ReadonlyMap<string, string> => {
  const ofPod = Map.groupBy(claims.ports, ({ pod }) => pod);
  const ours = ({ id }: { id: string }) => ({
    port: id,
    groups: (ports.get(id)?.security_groups ?? []).filter((one) => groups.has(one)).sort(),
  });
  return new Map([...ofPod].map(([uid, those]) => [uid, JSON.stringify(those.map(ours))]));
};
