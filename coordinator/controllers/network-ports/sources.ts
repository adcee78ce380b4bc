/**
 * What addresses are given by, as the API server has it: a watch each of networks, NetworkPorts,
 * pods, nodes and VirtualAddresses, with what this coordinator has written and no watch has shown
 * yet.
 */
import { isDeepStrictEqual } from 'node:util';
import type { KubeClient } from '#shared/kube/client.ts';
import { Reflector } from '#shared/kube/informer/reflector.ts';
import { isAnswered } from '#shared/kube/informer/watch-state.ts';
import { isLater } from '#shared/kube/objects.ts';
import {
  managedNetworkResource,
  type ManagedNetwork,
} from '#shared/resources/other-kinds/managed-network.ts';
import {
  isUnclaimed,
  networkPortResource,
  type NetworkPort,
} from '#shared/resources/other-kinds/network-port.ts';
import type { Clock } from '#shared/runtime/clock.ts';
import type { Logger } from '#shared/runtime/log.ts';
import { oncePerObject } from '#shared/util/memo.ts';
import { Claims, isReleased } from './claims.ts';
import { isKept, nameOfPod, type Claim, type Foreign, type KnownNetwork } from './decide.ts';
import { isAdopted } from './network-status.ts';
import {
  foreignOf,
  holderOf,
  indexesIn,
  indexesOfPod,
  NO_FOREIGN,
  type Holder,
} from './foreign.ts';
import { isGated, isRunning, portNodes, portPods, type PortPod } from './objects.ts';
import {
  addressesAt,
  conflictBetween,
  planOf,
  portName,
  type Plan,
  type Unplanned,
} from './subnets.ts';
import { virtualAddresses, type VirtualAddress } from './virtual-addresses.ts';

export type PortSourcesOptions = {
  client: KubeClient;
  clock: Clock;
  log: Logger;
  /** Must return at once, as all of these. */
  onNetwork: (name: string) => void;
  onPort: (name: string) => void;
  onPod: (uid: string, delayMs?: number) => void;
  /** A pod or a NetworkPort. */
  onGone: (uid: string) => void;
  /** What a network of Neutron gives, as far as it has been read. */
  neutronPlan: (network: ManagedNetwork) => KnownNetwork['plan'];
  /** Why Neutron makes no more ports in it. */
  fullOf: (network: ManagedNetwork) => string | undefined;
};

const GATED = 'yes';
/** Any user with the right to change a pod changes its annotations at any rate. */
const FOREIGN_MS = 1_000;

type Planned = {
  plan: Plan;
  /** The running pods that have some of its addresses, by what their CNI says; by uid. */
  pods: Map<string, Holder>;
  indexesHeldBy: (holder: VirtualAddress) => readonly number[];
  /** NetworkPorts whose addresses are not at their index, since the subnets are others now. */
  moved: Map<string, { port: NetworkPort; address: string }>;
};

export class PortSources {
  readonly networks: Reflector<ManagedNetwork>;
  readonly ports: Reflector<NetworkPort>;
  readonly pods: Reflector<PortPod>;
  readonly nodes;
  readonly virtualAddresses: Reflector<VirtualAddress>;
  readonly #options: PortSourcesOptions;
  /** As this coordinator has written them, until the watch shows it. */
  readonly #written = new Map<string, NetworkPort>();
  /** Uids that this coordinator has deleted, until the watch shows it. */
  readonly #removed = new Set<string>();
  /** Deleted by others while their pods had them, by name: not free until that is looked at. */
  readonly #lost = new Map<string, NetworkPort>();
  /** What this coordinator is writing: others must not decide on what was there before. */
  readonly #reserved = new Map<string, NetworkPort>();
  /** All of these as one, by name. */
  readonly #current = new Map<string, NetworkPort>();
  /** The same, by network. */
  readonly #claims = new Map<string, Claims>();
  readonly #plans = new Map<string, Planned | Unplanned>();

  constructor(options: PortSourcesOptions) {
    const { client, clock, log } = options;
    this.#options = options;
    const common = { client, clock, log };
    this.networks = new Reflector({
      ...common,
      resource: managedNetworkResource,
      onEvent: ({ type, object, old }) => {
        if (type === 'updated' && isDeepStrictEqual(shapeOf(object), shapeOf(old))) return;
        // Another one may overlap it no longer.
        this.#plans.clear();
        this.markNetworks();
        this.markWaiting();
        this.markUnclaimed(object.metadata.name);
      },
    });
    this.ports = new Reflector({
      ...common,
      resource: networkPortResource,
      indices: { node: ({ status }) => (status?.node === undefined ? [] : [status.node]) },
      onEvent: ({ type, object }) => this.#onPort(type, object),
    });
    this.pods = new Reflector({
      ...common,
      resource: portPods,
      indices: {
        gated: (pod) => (isGated(pod) ? [GATED] : []),
        network: ({ names }) => names,
      },
      onEvent: ({ type, object, old }) => {
        const { uid } = object.metadata;
        this.#noteHolder(object, type !== 'deleted');
        if (type === 'deleted') options.onGone(uid);
        else if (isGated(object)) options.onPod(uid);
        if (type !== 'updated' || !isDeepStrictEqual(useOf(object), useOf(old)))
          this.#onPod(object);
      },
    });
    this.nodes = new Reflector({
      ...common,
      resource: portNodes,
      onEvent: ({ type, object, old }) => {
        if (type === 'updated' && object.isSilent === old.isSilent) return;
        for (const { metadata } of this.ports.store.by('node', object.metadata.name))
          options.onPort(metadata.name);
      },
    });
    this.virtualAddresses = new Reflector({
      ...common,
      resource: virtualAddresses,
      onEvent: ({ type, object, old }) => {
        if (type === 'updated' && isDeepStrictEqual(object.addresses, old.addresses)) return;
        if (![object, ...(old ? [old] : [])].some((one) => this.#isInNetwork(one))) return;
        this.markNetworks();
        this.markWaiting();
      },
    });
  }

  isKnown(): boolean {
    const { networks, ports, pods, nodes, virtualAddresses: moving } = this;
    return [networks, ports, pods, nodes, moving].every(({ state }) => state.listed);
  }

  /** Something is managed, or was; undefined: that is not known yet. */
  isUsed(): boolean | undefined {
    if (this.networks.store.size > 0 || this.ports.store.size > 0) return true;
    return this.#hasNetworksAndPorts() ? false : undefined;
  }

  readonly isNodeSilent = (name: string): boolean | undefined =>
    this.nodes.store.byName('', name)?.isSilent;

  /** What another coordinator has written since counts. */
  forgetWrites(): void {
    const names = [...this.#written.keys(), ...this.#lost.keys()];
    this.#written.clear();
    this.#lost.clear();
    for (const name of names) this.#look(name);
  }

  markAll(): void {
    this.markNetworks();
    this.markWaiting();
    for (const { metadata } of this.ports.store.list()) this.#options.onPort(metadata.name);
  }

  /**
   * The group of a key of controllers, `pod UID` or of a NetworkPort or network by name: any user
   * with the right to make pods makes any number that wait; in a namespace they do not wait for its
   * thousands of NetworkPorts, all of which are looked at after a start.
   */
  turnOf(key: string): string {
    const [what = '', id = ''] = key.split(' ', 2);
    const pod = what === 'pod' ? this.pods.store.byUid(id)?.metadata : undefined;
    return `${what} ${(pod ?? this.port(id)?.spec.claim)?.namespace ?? ''}`;
  }

  /** What a network of Neutron gives is another now. */
  forgetPlans(): void {
    this.#plans.clear();
    this.markWaiting();
  }

  /** Those of networks of Neutron. Undefined: they are not listed yet. */
  portsInNeutron(): NetworkPort[] | undefined {
    if (!this.#hasNetworksAndPorts()) return undefined;
    return this.networks.store
      .list()
      .filter(({ spec }) => spec.provider === 'neutron')
      .flatMap(({ metadata }) => this.portsOf(metadata.name));
  }

  portsOf(network: string): NetworkPort[] {
    return this.#claimsOf(network).all();
  }

  /** As all of these: with what is being written, and what others have deleted. */
  allPorts(): NetworkPort[] {
    return [...this.#current.values()];
  }

  markNetworks(): void {
    for (const { metadata } of this.networks.store.list()) this.#options.onNetwork(metadata.name);
  }

  markWaiting(delayMs?: number): void {
    for (const { metadata } of this.waiting()) this.#options.onPod(metadata.uid, delayMs);
  }

  /** What the network gives may be another: their pools may not want them. */
  markUnclaimed(network: string): void {
    for (const port of this.portsOf(network))
      if (isUnclaimed(port)) this.#options.onPort(port.metadata.name);
  }

  waiting(): readonly PortPod[] {
    return this.pods.store.by('gated', GATED);
  }

  note(port: NetworkPort): void {
    const { name } = port.metadata;
    const shown = this.ports.store.byName('', name);
    if (!shown || isLater(port, shown)) this.#written.set(name, port);
    this.#look(name);
  }

  forget(name: string): void {
    this.#written.delete(name);
    this.#look(name);
  }

  /** While it is written other pods are decided on. */
  async reserve<T>({ spec, resting }: Claim, write: () => Promise<T>): Promise<T> {
    const name = portName(spec);
    const metadata = { name, namespace: '', uid: '', resourceVersion: '', creationTimestamp: '' };
    const { kind } = networkPortResource;
    this.#reserved.set(name, { apiVersion: '', kind, metadata, ...resting, spec, status: {} });
    this.#look(name);
    try {
      return await write();
    } finally {
      // Where it failed, pods that were refused for it look again by themselves: woken at once, two
      // whose claims fail would wake each other, whatever their backoff.
      this.#reserved.delete(name);
      this.#look(name);
    }
  }

  /** Called before the deletion, of which the watch may be the first to tell. */
  noteRemoval({ metadata: { name, uid } }: NetworkPort): { undo: () => void } {
    this.forget(name);
    this.#removed.add(uid);
    return { undo: () => void this.#removed.delete(uid) };
  }

  /** One that others have deleted while its pod had it. */
  lost(name: string): NetworkPort | undefined {
    return this.#lost.get(name);
  }

  /** It is claimed anew, or its pod has gone as well. */
  settle(name: string): void {
    this.#lost.delete(name);
    this.#look(name);
    this.markWaiting();
  }

  port(name: string): NetworkPort | undefined {
    const shown = this.ports.store.byName('', name);
    return shown ? this.#latest(shown) : this.#written.get(name);
  }

  portsOfPod(uid: string): NetworkPort[] {
    return [...this.#claims.values()].flatMap((claims) => claims.ofPod(uid));
  }

  /** Those that it has for its pods, and for their next ones. */
  portsOfKeeper(uid: string): NetworkPort[] {
    return [...this.#claims.values()].flatMap((claims) => claims.ofKeeper(uid));
  }

  /** By its name, in any network. */
  portsOfPool(name: string): NetworkPort[] {
    return [...this.#claims.values()].flatMap((claims) => claims.ofPool(name));
  }

  networkNamed(name: string): ManagedNetwork | undefined {
    return this.networks.store.list().find(({ spec }) => spec.names.includes(name));
  }

  podsNaming({ spec }: ManagedNetwork): PortPod[] {
    const pods = new Set(spec.names.flatMap((name) => this.pods.store.by('network', name)));
    return [...pods].filter(({ hasEnded }) => !hasEnded);
  }

  runningPods(network: ManagedNetwork): PortPod[] {
    return this.podsNaming(network).filter(isRunning);
  }

  /** What a network could give, also while it does not yet. */
  planFor({ metadata: { name } }: ManagedNetwork): KnownNetwork['plan'] {
    const planned = this.#planned(name);
    if ('problem' in planned) return planned;
    const [moved] = planned.moved.values();
    if (moved === undefined) return planned.plan;
    const { address, port } = moved;
    const { claim, index } = port.spec;
    return {
      problem: `pod ${nameOfPod(claim)} has ${address}, which is not at offset ${index} of the subnets any more`,
    };
  }

  /** All of them, though none is there. */
  #hasNetworksAndPorts(): boolean {
    return isAnswered(this.networks.state) && isAnswered(this.ports.state);
  }

  #planned(name: string): Planned | Unplanned {
    return this.#plans.getOrInsertComputed(name, () => {
      const network = this.networks.store.byName('', name);
      if (network === undefined) return { problem: 'it is gone' };
      const plan = this.#readPlan(network);
      if ('problem' in plan) return plan;
      const planned: Planned = {
        plan,
        pods: new Map(),
        indexesHeldBy: oncePerObject(({ addresses }: VirtualAddress) => indexesIn(plan, addresses)),
        moved: new Map(),
      };
      for (const pod of this.runningPods(network)) noteHolder(planned, network, pod);
      for (const port of this.#claimsOf(name).all()) noteMoved(planned, port);
      return planned;
    });
  }

  #noteHolder(pod: PortPod, isThere: boolean): void {
    for (const [name, planned] of this.#plans) {
      const network = this.networks.store.byName('', name);
      if ('problem' in planned || network === undefined) continue;
      if (isThere && isRunning(pod)) noteHolder(planned, network, pod);
      else planned.pods.delete(pod.metadata.uid);
    }
  }

  #isInNetwork(holder: VirtualAddress): boolean {
    return this.networks.store.list().some(({ metadata }) => {
      const planned = this.#planned(metadata.name);
      return !('problem' in planned) && planned.indexesHeldBy(holder).length > 0;
    });
  }

  #readPlan(network: ManagedNetwork): KnownNetwork['plan'] {
    if (network.metadata.deletionTimestamp !== undefined) return { problem: 'it is being deleted' };
    for (const other of this.networks.store.list()) {
      if (ageOf(other) >= ageOf(network)) continue;
      const conflict = conflictBetween(network.spec, other.spec);
      if (conflict !== undefined)
        return { problem: `ManagedNetwork ${other.metadata.name} was there first: ${conflict}` };
    }
    return network.spec.provider === 'neutron'
      ? this.#options.neutronPlan(network)
      : planOf(network.spec);
  }

  known(network: ManagedNetwork): KnownNetwork {
    const plan = this.planFor(network);
    return {
      object: network,
      plan: 'problem' in plan || plan.neutron || isAdopted(network) ? plan : ADOPTING,
      ports: this.#claimsOf(network.metadata.name),
      full: this.#options.fullOf(network),
      ...this.#foreign(network),
    };
  }

  #foreign(network: ManagedNetwork): Foreign {
    const planned = this.#planned(network.metadata.name);
    // Neutron itself gives no address twice.
    if ('problem' in planned || planned.plan.neutron) return NO_FOREIGN;
    const { indexesHeldBy, pods } = planned;
    return foreignOf(network, this.#claimsOf(network.metadata.name), [
      ...pods.values(),
      ...this.virtualAddresses.store.list().map((one) => holderOf(one, indexesHeldBy(one))),
    ]);
  }

  #claimsOf(network: string): Claims {
    return this.#claims.getOrInsertComputed(network, () => new Claims());
  }

  /** What is known of it may be other than before. */
  #look(name: string): void {
    const before = this.#current.get(name);
    const now = this.#reserved.get(name) ?? this.port(name) ?? this.#lost.get(name);
    if (before === now) return;
    if (before) this.#place(before, undefined);
    if (now) this.#place(now, now);
    if (now) this.#current.set(name, now);
    else this.#current.delete(name);
  }

  #place({ metadata, spec }: NetworkPort, now: NetworkPort | undefined): void {
    const { network } = spec;
    this.#claimsOf(network).set(spec, now);
    const planned = this.#plans.get(network);
    if (planned === undefined || 'problem' in planned) return;
    if (now) noteMoved(planned, now);
    else planned.moved.delete(metadata.name);
  }

  #latest(shown: NetworkPort): NetworkPort {
    const ours = this.#written.get(shown.metadata.name);
    return ours && (ours.metadata.uid !== shown.metadata.uid || isLater(ours, shown))
      ? ours
      : shown;
  }

  #onPort(type: 'added' | 'updated' | 'deleted', port: NetworkPort): void {
    const { name, uid } = port.metadata;
    const ours = this.#written.get(name);
    if (ours && !isLater(ours, port)) this.#written.delete(name);
    const isLost = type === 'deleted' && !this.#removed.delete(uid) && !isReleased(port);
    if (isLost) this.#lost.set(name, port);
    else if (type !== 'deleted') this.#lost.delete(name);
    this.#look(name);
    if (type === 'deleted') this.#options.onGone(uid);
    if (type === 'deleted' ? !isLost : isKept(port)) this.markWaiting();
    this.#options.onPort(name);
    this.#options.onNetwork(port.spec.network);
  }

  #onPod(pod: PortPod): void {
    for (const { metadata } of this.portsOfPod(pod.metadata.uid))
      this.#options.onPort(metadata.name);
    const networks = new Set(pod.names.flatMap((name) => this.networkNamed(name) ?? []));
    for (const { metadata } of networks) this.#options.onNetwork(metadata.name);
    // An address that was foreign may be free now.
    if (networks.size > 0 && pod.present.length > 0) this.markWaiting(FOREIGN_MS);
  }
}

const noteHolder = ({ plan, pods }: Planned, network: ManagedNetwork, pod: PortPod): void => {
  const indexes = indexesOfPod(pod, network, plan);
  if (indexes.length > 0) pods.set(pod.metadata.uid, holderOf(pod, indexes, 'pod'));
  else pods.delete(pod.metadata.uid);
};

const noteMoved = ({ plan, moved }: Planned, port: NetworkPort): void => {
  if (port.spec.index === undefined) return;
  const now = addressesAt(plan, port.spec.index);
  const address = port.spec.addresses.find((text, at) => text !== now[at]);
  if (address !== undefined) moved.set(port.metadata.name, { port, address });
};

const ADOPTING = {
  problem: 'the addresses of pods that run already are being claimed first',
  reason: 'Adopting',
};

/** What of a network others depend on. */
const shapeOf = (network: ManagedNetwork): unknown => [
  network.spec,
  isAdopted(network),
  network.metadata.deletionTimestamp,
];

const useOf = ({ node, hasEnded, present }: PortPod): unknown => [node, hasEnded, present];

const ageOf = ({ metadata: { creationTimestamp, uid } }: ManagedNetwork): string =>
  `${creationTimestamp} ${uid}`;
