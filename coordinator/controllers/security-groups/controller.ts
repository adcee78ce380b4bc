/**
 * Reads NetworkPolicies, pods and namespaces, watches nodes; owns and writes the security groups
 * and address groups in Neutron that bear our prefix and this cluster's mark, which of them the
 * ports of pods have, and annotation `policy-groups` of these pods. Policies and pods get Events.
 */
import { isDeepStrictEqual } from 'node:util';
import type { KubeClient } from '#shared/kube/client.ts';
import {
  createController,
  OVERTAKEN,
  type ControllerDeps,
  type Outcome,
} from '#shared/kube/controller.ts';
import type { RecordedEvent } from '#shared/kube/events.ts';
import type { PortOfPod } from '#shared/policy/pod-ports.ts';
import type { AnyPolicy, WatchedPod } from '../network-policy/kept.ts';
import type { PolicySources } from '../network-policy/sources.ts';
import { isAbsent, isOvertakenInNeutron, NeutronError } from '../../neutron/errors.ts';
import type { Neutron } from '../../neutron/neutron.ts';
import { createAnnouncer } from './events.ts';
import { annotate } from './annotate.ts';
import { applySteps } from './apply.ts';
import { portClaimsOf, namedPorts, type PodWithPorts, type PortClaims } from './claims.ts';
import { createMembers } from './members.ts';
import { watchNodes } from './nodes.ts';
import {
  causeOf,
  createOutages,
  isWorthTelling,
  NO_NODES,
  type OutageCause,
} from '../../neutron/outage.ts';
import { stepsFor } from './plan.ts';
import { selectorsOf } from './policy-parts.ts';
import { createPresent } from './present.ts';
import { wantedOf, type WantedFacts, type WantedResult } from './wanted.ts';

export type SecurityGroupsDeps = ControllerDeps & {
  client: KubeClient;
  policySources: PolicySources;
  neutron: Neutron;
  /** Between whole looks at Neutron. */
  resyncMs: number;
  record: (event: RecordedEvent) => void;
  /** Takes what tells for how many milliseconds Neutron has failed; 0 while it does not. */
  exposeFailing: (lastsMs: () => number) => void;
  /** The ports of NetworkPorts, with their pods. Undefined: they are not listed yet. */
  portsInNeutron?: () => readonly PortOfPod[] | undefined;
  /** What `guardOf` says may be another. */
  onGuards?: () => void;
};

export type SecurityGroupsController = {
  mark: () => void;
  /** Whether the port has the groups of that pod, or can have none. Undefined: not yet. */
  guardOf: (portId: string, podUid: string) => 'guarded' | 'unguarded' | undefined;
  run: (signal: AbortSignal) => Promise<void>;
};

const KEY = 'all';
const COALESCE_MS = 50;
/** While a watch may be behind. */
const SOON_MS = 1_000;
/** Until the quota is asked for again. */
const QUOTA_AGAIN_MS = 10_000;
/**
 * Others change things, too; overtaken so often in a row, a coordinator is refused for another
 * reason.
 */
const MAX_OVERTAKEN = 6;

export const createSecurityGroupsController = (
  deps: SecurityGroupsDeps,
): SecurityGroupsController => {
  const { client, clock, log, neutron, record, resyncMs } = deps;
  const givenPorts = deps.portsInNeutron ?? (() => []);
  const portsInNeutron = (): readonly PortOfPod[] => givenPorts() ?? [];
  const sources = withGiven(deps.policySources, portsInNeutron);
  const mark = (): void => controller.mark(KEY);
  const policies = followPolicies(sources, mark);
  const nodes = watchNodes({ client, clock, log }, mark);
  const present = createPresent({ neutron, clock, resyncMs });
  const announcer = createAnnouncer({ policySources: sources, record, clock });
  const outages = createOutages(clock);
  const guards = createGuards(deps.onGuards);
  let overtaken = 0;
  deps.exposeFailing(() => (deps.leadership.term() === undefined ? 0 : outages.lastsMs()));

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
      present.doubt();
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
      const ports = namedPorts(portsIn(sources.podsWithPorts(), portsInNeutron()));
      const members = createMembers({ ...sources.groups, ports });
      announcer.failing({ policies: policies(), members, cause });
    }
    return { failed: cause.reason, againInMs };
  };

  const bring = async (cluster: string, signal: AbortSignal): Promise<Outcome> => {
    const given = portsInNeutron();
    const watched = sources.podsWithPorts();
    const withPorts = portsIn(watched, given);
    const there = await present.look(cluster, idsIn(withPorts), signal);
    const claims = portClaimsOf(withPorts, there.ports);
    const result = await wantedWithin(
      {
        cluster,
        policies: policies(),
        members: createMembers({ ...sources.groups, ports: claims.ports }),
        ports: claims.ports.map(({ id }) => id),
        passedOn: guards.begin(claims),
        nodeAddresses: nodes.store.list().flatMap(({ addresses }) => addresses),
        present: there,
      },
      () => neutron.quotas(signal),
    );
    await applySteps(stepsFor(result.wanted, there), { neutron, present: there, signal });
    if (!result.nothingFits) guards.note(claims);
    const unwritten = await annotate(watched, { claims, present: there }, { client, signal });
    announcer.brought({ policies: policies(), result, claims, present: there, unwritten });
    const isShort = [...result.refused.values()].some(({ reason }) => reason === 'QuotaExceeded');
    if (isShort) return { failed: 'QuotaExceeded', againInMs: Math.min(QUOTA_AGAIN_MS, resyncMs) };
    if (unwritten.length > 0) return { failed: 'Forbidden', againInMs: resyncMs };
    return { againInMs: isBehind(sources, given) ? SOON_MS : present.nextReadInMs() };
  };

  const controller = createController<string>({
    ...deps,
    name: 'security-groups',
    sources: [nodes],
    facts: () => {
      const areNodesKnown = nodes.state.listed || nodes.state.phase === 'Forbidden';
      // Groups of ports that are not listed yet would be taken off.
      return sources.isKnown() && areNodesKnown && givenPorts() ? sources.cluster() : undefined;
    },
    markAll: () => {
      // Another coordinator may have written, or waited.
      present.doubt();
      outages.over();
      controller.mark(KEY, 0);
    },
    reconcile,
    fieldsOf: () => ({}),
    coalesceMs: COALESCE_MS,
  });
  return { mark, guardOf: guards.of, run: controller.run };
};

/** Whether the watch of pods is behind that of their NetworkPorts. It tells nothing of those. */
const isBehind = ({ pod: find }: PolicySources, given: readonly PortOfPod[]): boolean =>
  given.some(({ hasRun, pod }) => !hasRun && find(pod) === undefined);

const idsIn = (pods: readonly PodWithPorts[]): string[] => namedPorts(pods).map(({ id }) => id);

/** `guard`: undefined while its groups are being set. */
type Guard = { pod: string; guard?: 'guarded' | 'unguarded' };

/** What was set last, so that a pod may run while Neutron fails since. */
const createGuards = (onGuards: SecurityGroupsDeps['onGuards']) => {
  /** By the port's id. */
  let guards = new Map<string, Guard>();
  const of: SecurityGroupsController['guardOf'] = (portId, podUid) => {
    const found = guards.get(portId);
    return found?.pod === podUid ? found.guard : undefined;
  };
  return {
    of,
    /** Before their groups are set. Which of them had another pod when that was done last. */
    begin: ({ ports }: PortClaims): ReadonlySet<string> => {
      const passedOn = ports.filter(({ id, pod }) => guards.getOrInsert(id, { pod }).pod !== pod);
      return new Set(passedOn.map(({ id }) => id));
    },
    /** Their groups are on the ports. */
    note: ({ ports, unguarded }: PortClaims): void => {
      const now = new Map<string, Guard>(
        ports.map(({ id, pod }) => [id, { pod, guard: 'guarded' }]),
      );
      for (const { port, pod } of unguarded)
        if (port !== undefined) now.set(port, { pod: pod.uid, guard: 'unguarded' });
      if (isDeepStrictEqual(now, guards)) return;
      guards = now;
      onGuards?.();
    },
  };
};

/** Pods with NetworkPorts say nothing of their ports themselves. */
const withGiven = (sources: PolicySources, given: () => readonly PortOfPod[]): PolicySources => ({
  ...sources,
  podsWithPorts: () => [
    ...new Set([
      ...sources.podsWithPorts(),
      ...given().flatMap(({ pod }) => sources.pod(pod) ?? []),
    ]),
  ],
});

/** The NetworkPolicies as they are now. What they select is followed. */
const followPolicies = (sources: PolicySources, mark: () => void): (() => readonly AnyPolicy[]) => {
  /** Undefined: they have changed, or are not read yet. */
  let policies: readonly AnyPolicy[] | undefined;
  const reader = sources.join({
    isWanted: () => true,
    onTouched: mark,
    onPolicies: () => {
      policies = undefined;
      mark();
    },
    onPorts: mark,
  });
  return () => {
    if (policies) return policies;
    policies = sources.policies().filter(({ kind }) => kind === 'NetworkPolicy');
    reader.follow(new Map(policies.flatMap(selectorsOf)));
    return policies;
  };
};

/** What pods say comes last: it takes none from others. */
const portsIn = (pods: readonly WatchedPod[], given: readonly PortOfPod[]): PodWithPorts[] => {
  const byPod = Map.groupBy(given, ({ pod }) => pod);
  return [
    ...pods.flatMap(({ pod }) => {
      const ports = byPod.get(pod.uid);
      return ports ? [{ pod, given: ports }] : [];
    }),
    ...pods.flatMap(({ pod, inNeutron: { ports } }) =>
      ports === undefined ? [] : [{ pod, annotation: ports }],
    ),
  ];
};

/** Asks for quotas only where they may be too small. */
const wantedWithin = async (
  facts: Omit<WantedFacts, 'quotas'>,
  quotas: () => Promise<WantedFacts['quotas']>,
): Promise<WantedResult> => {
  const unbound = wantedOf({ ...facts, quotas: undefined });
  if (!unbound.needsQuota) return unbound;
  return wantedOf({ ...facts, quotas: await quotas() });
};
