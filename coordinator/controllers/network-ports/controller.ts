/**
 * Watches ManagedNetworks, NetworkPorts, VirtualAddresses, nodes, and the pods that wait for
 * addresses or have some in such networks; owns NetworkPorts, each the claim of an address; writes
 * them, the addresses into pods behind our scheduling gate as it opens it, and the statuses of
 * networks. What it has given stands in NetworkPorts and pods alone.
 */
import { isDeepStrictEqual } from 'node:util';
import { PAGE_SIZE, type KubeClient } from '#shared/kube/client.ts';
import {
  createController,
  OVERTAKEN,
  type ControllerDeps,
  type Outcome,
} from '#shared/kube/controller.ts';
import type { RecordedEvent } from '#shared/kube/events.ts';
import type { PortOfPod } from '#shared/policy/pod-ports.ts';
import { replaceStatus } from '#shared/kube/fenced.ts';
import { find } from '#shared/kube/owned.ts';
import {
  managedNetworkResource,
  type ManagedNetwork,
} from '#shared/resources/other-kinds/managed-network.ts';
import { isUnclaimed, type NetworkPort } from '#shared/resources/other-kinds/network-port.ts';
import type { Clock } from '#shared/runtime/clock.ts';
import { atOnce } from '#shared/util/at-once.ts';
import { adopt } from './adopt.ts';
import { differenceOf } from './differences.ts';
import { asksOf, type Ask } from './asks.ts';
import {
  decidePod,
  decidePort,
  isHeld,
  isKeeper,
  isKept,
  isOfSlot,
  nameOfPod,
  type Claim,
  type KnownNetwork,
  type PortStep,
  type View,
  type Wait,
  type WaitingPod,
} from './decide.ts';
import { createAnnouncer } from './events.ts';
import { createKeepers, type Keepers } from './keep-addresses.ts';
import type { PortMetrics } from './metrics.ts';
import { isAdopted, statusOf, type NetworkFacts } from './network-status.ts';
import { createAttachments, type Attachments } from './attachments.ts';
import { isGated, portNodes, portPods, presentOf, type PortNode, type PortPod } from './objects.ts';
import { PortSources } from './sources.ts';
import {
  createNeutronPorts,
  portWait,
  type NeutronOfPorts,
  type NeutronPortsController,
} from './neutron/controller.ts';
import { isReleased, poolOf } from './claims.ts';
import { portName, randomMac } from './subnets.ts';
import { createPortWrites, type PortWrites } from './writes.ts';

export type NetworkPortsDeps = ControllerDeps & {
  client: KubeClient;
  record: (event: RecordedEvent) => void;
  portMetrics: PortMetrics;
  /** Undefined: there is no cloud, and networks of Neutron give nothing. */
  neutronOfPorts?: NeutronOfPorts | undefined;
};

export type NetworkPortsController = {
  /** The policies' controller has set groups of ports. */
  onGuards: () => void;
  /** In Neutron, with the pods that have them. */
  portsInNeutron: () => readonly PortOfPod[] | undefined;
  /** Why a pod has no addresses yet; undefined: it waits for none, as far as is known. */
  waitOf: (podUid: string) => string | undefined;
  run: (signal: AbortSignal) => Promise<void>;
};

const COALESCE_MS = 10;
const CONCURRENCY = 8;
const STATUS_COALESCE_MS = 300;
/** Between looks at what waits for something that no watch shows. */
const AGAIN_MS = 10_000;
/** While a watch may be behind. */
const SOON_MS = 1_000;
/** Between looks whether there is a network; after so many also whether a pod waits without one. */
const UNWANTED_AGAIN_MS = 100;
const LOOKS_PER_LIST = 300;
const MAX_ATTEMPTS = 64;
/** Longer than the leader takes until it gives addresses. */
const STANDBY_MS = 5_000;
/** Neutron takes a second or two for a port. */
const WORTH_TELLING_S = 5;

type Reconciler = {
  pod: (uid: string, signal: AbortSignal) => Promise<Outcome>;
  port: (name: string, signal: AbortSignal) => Promise<Outcome>;
  network: (name: string, signal: AbortSignal) => Promise<Outcome>;
};

export const createNetworkPortsController = (deps: NetworkPortsDeps): NetworkPortsController => {
  const { clock, leadership, log, metrics, portMetrics } = deps;
  const parts = createParts(deps, (key, ms) => controller.mark(key, ms));
  const { announcer, neutron, sources } = parts;
  const leads = (): boolean => leadership.term() !== undefined;
  portMetrics.expose(
    () => (leads() ? sources.networks.store.list() : []),
    () => (leads() ? sources.waiting().length : 0),
  );
  const reconciler: Reconciler = {
    pod: createPodReconciler(parts),
    port: createPortReconciler(parts),
    network: createNetworkReconciler(parts),
  };
  const controller = createController<true>({
    metrics,
    leadership,
    clock,
    log,
    name: 'network-ports',
    facts: () => (sources.isKnown() ? true : undefined),
    markAll: () => {
      sources.forgetWrites();
      sources.markAll();
    },
    reconcile: (key, _, signal) => {
      const [what, id = ''] = key.split(' ', 2);
      if (what === 'pod') return reconciler.pod(id, signal);
      return what === 'port' ? reconciler.port(id, signal) : reconciler.network(id, signal);
    },
    fieldsOf: (key) => ({ key }),
    groupOf: (key) => sources.turnOf(key),
    coalesceMs: COALESCE_MS,
    concurrency: CONCURRENCY,
  });

  return {
    onGuards: () => sources.markWaiting(),
    portsInNeutron: () =>
      sources
        .portsInNeutron()
        ?.filter(isHeld)
        .flatMap(({ spec: { claim }, status: { portID: port, node } = {} }) =>
          port === undefined
            ? []
            : [{ port, interface: claim.interface, pod: claim.uid, hasRun: node !== undefined }],
        ),
    waitOf: (podUid) => {
      const pod = sources.pods.store.byUid(podUid);
      return pod && isGated(pod) ? announcer.waitOf(podUid) : undefined;
    },
    run: async (signal) => {
      await untilLeaderIsAhead(deps, signal);
      const early = [sources.networks.run(signal), sources.ports.run(signal)];
      await untilUsed(parts, signal);
      const { pods, nodes, virtualAddresses } = sources;
      const late = signal.aborted ? [] : [pods, nodes, virtualAddresses, controller];
      const inNeutron = signal.aborted ? undefined : neutron?.run(signal);
      await Promise.all([...early, ...late.map((each) => each.run(signal)), inNeutron]);
    },
  };
};

/**
 * Replicas that start at once share the API server, and small nodes: the one that leads lists
 * first, and is done sooner.
 */
const untilLeaderIsAhead = async (
  { clock, leadership }: Pick<NetworkPortsDeps, 'clock' | 'leadership'>,
  signal: AbortSignal,
): Promise<void> => {
  const leading = new AbortController();
  void leadership.lead(async () => leading.abort(), signal);
  const either = AbortSignal.any([signal, leading.signal]);
  await clock.sleep(STANDBY_MS, either).catch(() => undefined);
};

/** Elsewhere no pod is watched. */
const untilUsed = async (parts: Common, signal: AbortSignal): Promise<void> => {
  for (let looks = 0; !signal.aborted;) {
    const isUsed = parts.sources.isUsed();
    if (isUsed) return;
    // Where thousands of pods wait, this list takes longer than all that a start needs.
    if (isUsed === false && looks++ % LOOKS_PER_LIST === 0 && (await waitsAny(parts, signal)))
      return;
    await parts.clock.sleep(UNWANTED_AGAIN_MS, signal).catch(() => undefined);
  }
};
/** The last network may be gone, and a pod still wait for it. */
const waitsAny = async (
  { client, leadership, log }: Common,
  signal: AbortSignal,
): Promise<boolean> => {
  if (leadership.term() === undefined) return false;
  try {
    const { items } = await client.list(portPods, {
      fieldSelector: 'spec.nodeName=',
      pageSize: PAGE_SIZE,
      signal,
    });
    return items.some(isGated);
  } catch (err) {
    if (!signal.aborted) log.debug({ err }, 'failed to look for pods that wait for addresses');
    return false;
  }
};

type Common = NetworkPortsDeps & {
  sources: PortSources;
  writes: PortWrites;
  keepers: Keepers;
  attachments: Attachments;
  announcer: ReturnType<typeof createAnnouncer>;
  neutron: NeutronPortsController | undefined;
};

const createParts = (
  deps: NetworkPortsDeps,
  mark: (key: string, delayMs?: number) => void,
): Common => {
  const { client, clock, log, neutronOfPorts, record } = deps;
  const announcer = createAnnouncer(record, clock);
  const onNetwork = (name: string): void => mark(`network ${name}`, STATUS_COALESCE_MS);
  const onPod = (uid: string, delayMs?: number): void => mark(`pod ${uid}`, delayMs);
  const onPort = (name: string): void => mark(`port ${name}`);
  const sources = new PortSources({
    client,
    clock,
    log,
    onNetwork: (name) => {
      onNetwork(name);
      neutron?.onNetwork(name);
    },
    onPort: (name) => {
      onPort(name);
      const port = sources.port(name);
      if (!port || !isOfNeutron(port)) return;
      neutron?.onPort(port);
      neutronOfPorts?.onPorts();
      // Its own give-back would have it claim again at once.
      if (isHeld(port)) onPod(port.spec.claim.uid);
    },
    onPod,
    onGone: announcer.forget,
    neutronPlan: (network) => neutron?.planOf(network) ?? NO_CLOUD,
    fullOf: (network) => (network.spec.neutron ? neutron?.fullOf(network) : undefined),
  });
  const writes = createPortWrites(client, sources, clock);
  const common = { ...deps, sources, writes, announcer };
  const neutron =
    neutronOfPorts &&
    createNeutronPorts({ ...common, ...neutronOfPorts, onNetwork, onPod, onPortName: onPort });
  return {
    ...common,
    neutron,
    keepers: createKeepers(client),
    attachments: createAttachments(client, clock),
  };
};

const NO_CLOUD = {
  reason: 'NoCloud',
  problem: 'the coordinator has no cloud: SDEWAN_OPENSTACK_CLOUD_FILE is not set',
};

/** It is of a pool, and no pod has had it. */
const isUnused = (port: NetworkPort): boolean =>
  poolOf(port) !== undefined && port.status?.node === undefined;

const isOfNeutron = ({ spec }: NetworkPort): boolean => spec.index === undefined;

const createPodReconciler = (deps: Common): Reconciler['pod'] => {
  const { announcer, attachments, client, clock, keepers, log, neutron, portMetrics, sources } =
    deps;
  const { writes } = deps;
  const { giveBack, letGo } = createReturns(deps);
  /** As the watch shows them still. */
  const opened = new WeakSet<PortPod>();

  const readAttachments = async (asks: readonly Ask[], signal: AbortSignal): Promise<void> => {
    for (const { by, name } of asks)
      if (by === 'multus' && sources.networkNamed(name) !== undefined)
        await attachments.read(name, signal);
  };

  /** Each network as it is at this moment. */
  const viewNow = (): View => {
    const known = new Map<string, KnownNetwork>();
    return {
      networkOf: (name) => {
        const network = sources.networkNamed(name);
        return (
          network && known.getOrInsertComputed(network.metadata.name, () => sources.known(network))
        );
      },
      lacksOf: attachments.lacks,
      isNodeSilent: sources.isNodeSilent,
      refusalOf: (port) => neutron?.refusalOf(port),
      randomMac,
    };
  };

  /** Whether the watch of networks is behind that of pods, where the pod would get addresses. */
  const isAhead = async (
    waiting: WaitingPod,
    asks: readonly Ask[],
    signal: AbortSignal,
  ): Promise<boolean> => {
    const unmanaged = asks.filter(({ name }) => sources.networkNamed(name) === undefined);
    if (unmanaged.length === 0 || 'wait' in decidePod(waiting, viewNow())) return false;
    const { items } = await client.list(managedNetworkResource, { signal });
    return unmanaged.some(({ name }) => items.some(({ spec }) => spec.names.includes(name)));
  };

  /** All or none, where it will not get what it has claimed. */
  const leaveWaiting = async (pod: PortPod, wait: Wait, signal: AbortSignal): Promise<Outcome> => {
    const { isPassing } = wait;
    if (!isPassing || ageOf(pod, clock) > WORTH_TELLING_S) announcer.waits(pod, wait);
    if (isPassing) return { againInMs: SOON_MS };
    await giveBack(pod.metadata.uid, [], signal);
    return { failed: wait.reason, againInMs: AGAIN_MS };
  };

  const open = async (
    pod: PortPod,
    claims: readonly Claim[],
    signal: AbortSignal,
  ): Promise<Outcome> => {
    const outcome = await writes.open(pod, claims, signal);
    if (outcome === 'opened') {
      opened.add(pod);
      announcer.assigned(pod, claims);
      if (claims.length > 0) portMetrics.opened(ageOf(pod, clock));
    }
    if (outcome !== 'forbidden') return 'done';
    announcer.forbidden(pod);
    const { namespace, name } = pod.metadata;
    log.warn({ namespace, pod: name }, 'the coordinator may not write the addresses of a pod');
    return { failed: 'Forbidden', againInMs: AGAIN_MS };
  };

  return async (uid, signal) => {
    const pod = sources.pods.store.byUid(uid);
    if (!pod || opened.has(pod) || !isGated(pod) || pod.isGoing || pod.hasEnded) return 'done';
    const { namespace, name } = pod.metadata;
    const { owner, texts } = pod;
    const asks = asksOf(texts, namespace);
    const keeper = await keepers.of(pod, signal);
    const waiting = { namespace, name, uid, owner, keeper, texts };
    await readAttachments(asks, signal);
    for (let attempt = 0; attempt < MAX_ATTEMPTS; attempt += 1) {
      if (await isAhead(waiting, asks, signal)) return { againInMs: SOON_MS };
      // From here to the claims nothing is waited for: other pods are looked at meanwhile.
      const decision = decidePod(waiting, viewNow());
      if ('wait' in decision) return await leaveWaiting(pod, decision.wait, signal);
      const { claims } = decision;
      const missing = claims.filter(({ has }) => !has);
      const made: boolean[] = [];
      // A write that outlived this look would pass for a claim in the next.
      await atOnce(missing, missing.length, async (claim) => {
        made.push(await writes.claim(claim, signal));
      });
      if (made.includes(false)) continue;
      await giveBack(uid, claims, signal);
      await letGo(waiting, claims, signal);
      const wait = waitInNeutron(claims, deps);
      if (wait) return await leaveWaiting(pod, wait, signal);
      return await open(pod, claims, signal);
    }
    return OVERTAKEN;
  };
};

const createReturns = ({ sources, writes }: Pick<Common, 'sources' | 'writes'>) => ({
  /** What earlier looks have claimed beside these. It was never on this pod. */
  giveBack: async (uid: string, claims: readonly Claim[], signal: AbortSignal): Promise<void> => {
    for (const port of besides(sources.portsOfPod(uid), claims)) {
      if (!isHeld(port)) continue;
      if (port.spec.claim.before !== undefined) await writes.leave(port, 'keptSince', signal);
      else if (!isOfNeutron(port)) await writes.remove(port, signal);
      else if (isUnused(port)) await writes.takeBack(port, signal);
      else await writes.leave(port, 'releasedAt', signal);
    }
  },

  /** What is kept for a pod that asks for it no longer. */
  letGo: async (pod: WaitingPod, claims: readonly Claim[], signal: AbortSignal): Promise<void> => {
    const { keeper } = pod;
    if (!isKeeper(keeper)) return;
    for (const port of besides(sources.portsOfKeeper(keeper.uid), claims))
      if (isKept(port) && isOfSlot(port, pod)) await writes.leave(port, 'releasedAt', signal);
  },
});

/** Undefined: each port of Neutron is there, and has its groups. */
const waitInNeutron = (
  claims: readonly Claim[],
  { neutron, sources }: Pick<Common, 'neutron' | 'sources'>,
): Wait | undefined => {
  for (const { spec } of claims) {
    if (spec.index !== undefined) continue;
    const port = sources.port(portName(spec));
    // The pod gets what the claim says, and Neutron may have given the port its addresses since.
    if (!port || !isDeepStrictEqual(port.spec.addresses, spec.addresses))
      return portWait(spec, 'is being made');
    const wait = neutron?.waitOf(port);
    if (wait) return wait;
  }
  return undefined;
};

/** Seconds. */
const ageOf = ({ metadata }: PortPod, clock: Pick<Clock, 'now'>): number =>
  Math.max(0, clock.now() - Date.parse(metadata.creationTimestamp)) / 1_000;

const besides = (ports: readonly NetworkPort[], claims: readonly Claim[]): NetworkPort[] => {
  const names = new Set(claims.map(({ spec }) => portName(spec)));
  return ports.filter(({ metadata }) => !names.has(metadata.name));
};

const createPortReconciler = (deps: Common): Reconciler['port'] => {
  const { announcer, client, clock, keepers, log, neutron, sources, writes } = deps;

  /** By uid: another pod of the name is another pod. */
  const isThere = async (port: NetworkPort, signal: AbortSignal): Promise<boolean> => {
    const { namespace, pod: name, uid } = port.spec.claim;
    const pod = await find(client, portPods, { namespace, name }, { signal });
    if (pod?.metadata.uid !== uid || pod.hasEnded) return false;
    return pod.node === undefined || (await nodeNow(pod.node, signal)) !== undefined;
  };

  const nodeNow = async (name: string, signal: AbortSignal): Promise<PortNode | undefined> => {
    const fieldSelector = `metadata.name=${name}`;
    return (await client.list(portNodes, { fieldSelector, signal })).items[0];
  };

  const restore = async (port: NetworkPort, signal: AbortSignal): Promise<Outcome> => {
    // It is settled when its port is deleted.
    if (isUnclaimed(port) && neutron) {
      neutron.release(port.metadata.name);
      return 'done';
    }
    if (!isUnclaimed(port) && (await isThere(port, signal))) {
      const fields = { port: port.metadata.name, pod: nameOfPod(port.spec.claim) };
      log.warn(fields, 'a NetworkPort was deleted while its pod had it, claiming it again');
      await writes.create(port.spec, signal);
    }
    sources.settle(port.metadata.name);
    return 'done';
  };

  const release = async (port: NetworkPort, signal: AbortSignal): Promise<Outcome> => {
    // The watch can be behind: of a pod that has just been made, or of its node.
    if (await isThere(port, signal)) return { againInMs: SOON_MS };
    const { node } = port.status ?? {};
    if (node !== undefined && (await nodeNow(node, signal))?.isSilent)
      return { againInMs: SOON_MS };
    const isToBeKept = await keepers.keeps(port, signal);
    // No watch tells of its keeper.
    if (isToBeKept && isKept(port)) return { againInMs: AGAIN_MS };
    const since = isToBeKept ? 'keptSince' : 'releasedAt';
    return (await writes.leave(port, since, signal)) ? { againInMs: 0 } : OVERTAKEN;
  };

  /** It is in a pool. */
  const keepOrLeave = async (port: NetworkPort, signal: AbortSignal): Promise<Outcome> => {
    const isWanted = neutron?.isWanted(port);
    if (neutron && isWanted === undefined) return { againInMs: SOON_MS };
    if (isWanted !== false) return 'done';
    return (await writes.leave(port, 'releasedAt', signal)) ? { againInMs: 0 } : OVERTAKEN;
  };

  const removeInNeutron = (port: NetworkPort): Outcome => {
    if (!neutron) return { failed: NO_CLOUD.reason, againInMs: AGAIN_MS };
    neutron.release(port.metadata.name);
    return 'done';
  };

  const take = async (port: NetworkPort, next: PortStep, signal: AbortSignal): Promise<Outcome> => {
    if (next.step === 'rest') return { againInMs: next.forMs };
    if (next.step === 'release') return await release(port, signal);
    if (next.step === 'delete' && isOfNeutron(port)) return removeInNeutron(port);
    if (next.step === 'delete') return (await writes.remove(port, signal)) ? 'done' : OVERTAKEN;
    if (next.step === 'note') {
      return (await writes.note(port, next.node, signal)) ? 'done' : OVERTAKEN;
    }
    if (next.step === 'none') return 'done';
    announcer.held(port, next.node);
    return { failed: 'NodeSilent', againInMs: AGAIN_MS };
  };

  const tellDifferences = (pod: PortPod): void => {
    const differences = sources.portsOfPod(pod.metadata.uid).flatMap((port) => {
      const network = sources.networks.store.byName('', port.spec.network);
      return (network && differenceOf(port, pod, network)) ?? [];
    });
    if (differences.length > 0) announcer.differs(pod, differences);
  };

  return async (name, signal) => {
    const port = sources.port(name);
    const lost = port ? undefined : sources.lost(name);
    if (!port) return lost ? await restore(lost, signal) : 'done';
    const pod = sources.pods.store.byUid(port.spec.claim.uid);
    if (pod) tellDifferences(pod);
    if (isUnclaimed(port) && !isReleased(port)) return await keepOrLeave(port, signal);
    const next = decidePort(port, {
      now: clock.now(),
      pod: pod && !pod.hasEnded ? { node: pod.node } : undefined,
      isNodeSilent: sources.isNodeSilent,
    });
    return await take(port, next, signal);
  };
};

const createNetworkReconciler =
  (deps: Common): Reconciler['network'] =>
  async (name, signal) => {
    const { attachments, client, clock, keepers, neutron, sources, writes } = deps;
    const network = sources.networks.store.byName('', name);
    if (!network) return 'done';
    const unobeyed = await unobeyedOf(network, attachments, signal);
    const outcome = unobeyed.length > 0 ? { againInMs: AGAIN_MS } : 'done';
    const plan = sources.planFor(network);
    const sweepHeld = neutron?.sweepHeld(name);
    type Said = Pick<NetworkFacts, 'adopting' | 'plan' | 'conflicts'>;
    const say = async (object: ManagedNetwork, facts: Said) => {
      const known = { ...sources.known(object), unobeyed, sweepHeld, now: clock.now(), ...facts };
      const status = statusOf(known);
      if (isDeepStrictEqual(status, object.status)) return object;
      const fence = { client, resource: managedNetworkResource, object };
      return await replaceStatus(fence, status, { signal });
    };
    // In Neutron nothing is adopted: it gives no address twice itself.
    const isNew = !('problem' in plan) && !isAdopted(network) && !plan.neutron;
    const begun = (): Said => ({
      plan: sources.known(network).plan,
      adopting: sources.runningPods(network).flatMap((pod) => presentOf(pod, network)).length,
      conflicts: [],
    });
    const object = isNew ? await say(network, begun()) : network;
    const conflicts = isNew
      ? await adopt(network, plan, { keepers, sources, writes, signal })
      : (network.status?.conflicts ?? []);
    tellUnmanaged(network, deps);
    await say(object, { plan, conflicts });
    return outcome;
  };

const tellUnmanaged = (network: ManagedNetwork, { announcer, sources }: Common): void => {
  for (const pod of sources.podsNaming(network))
    if (pod.isCnf && !isGated(pod) && sources.portsOfPod(pod.metadata.uid).length === 0)
      announcer.unmanaged(pod, [network.metadata.name]);
};

/** Names of Nodus' networks have no namespace. */
const unobeyedOf = async (
  { spec }: ManagedNetwork,
  attachments: Attachments,
  signal: AbortSignal,
): Promise<string[]> => {
  const names = spec.names.filter((name) => name.includes('/'));
  for (const name of names) await attachments.read(name, signal);
  return names.flatMap((name) => {
    const lacks = attachments.lacks(name);
    return lacks === undefined ? [] : [`attachment ${name} ${lacks}`];
  });
};
