/**
 * Which addresses a pod that waits gets, or why it gets none; and what becomes of a NetworkPort
 * whose pod is gone. Pure: the same facts come to the same.
 */
import { few } from '#shared/util/few.ts';
import {
  isUnclaimed,
  type NetworkPort,
  type NetworkPortSpec,
} from '#shared/resources/other-kinds/network-port.ts';
import type { ManagedNetwork } from '#shared/resources/other-kinds/managed-network.ts';
import { BULK_MS } from '../../neutron/ports.ts';
import { isReleased, poolOf, type Claims } from './claims.ts';
import { asksIn, filled, inheriting, type Ask, type AskTexts } from './asks.ts';
import type { Keeper } from './keep-addresses.ts';
import { claimInNeutron, isAskedInNeutron } from './neutron/claim.ts';
import { isAsPlanned } from './neutron/plan.ts';
import {
  addressesAt,
  commonIndexOf,
  macAt,
  NOT_ASKED,
  portName,
  withLengths,
  type Plan,
  type Unplanned,
} from './subnets.ts';

/** Caches, conntrack and policies still know the address for so long. */
export const REST_MS = 30_000;

/** Kubernetes' own: an administrator says by it that nothing runs on the node. */
export const OUT_OF_SERVICE = 'node.kubernetes.io/out-of-service';

export type WaitingPod = {
  namespace: string;
  name: string;
  uid: string;
  /** uid of its controller. */
  owner: string | undefined;
  /** `problem`: why it cannot have its addresses kept. Undefined: it asks for no such thing. */
  keeper?: Keeper | { problem: string } | undefined;
  texts: AskTexts;
};

export type Foreign = {
  /** By index: what holds it, in words. */
  foreign: ReadonlyMap<number, string>;
  /** Those that are said to be in use without a share: given last, and to no pod that fixes it. */
  doubtful: ReadonlyMap<number, string>;
};

export type KnownNetwork = {
  object: ManagedNetwork;
  /** `problem`: why it gives nothing to any pod. */
  plan: Plan | Unplanned;
  /** Its NetworkPorts, those that rest as well. */
  ports: Claims;
  /** Why Neutron makes no more ports in it, in words. */
  full?: string | undefined;
} & Foreign;

export type View = {
  /** By what pods call it. */
  networkOf: (name: string) => KnownNetwork | undefined;
  /** What an attachment of Multus does not take: `ips`, `mac`. */
  lacksOf: (attachment: string) => string | undefined;
  isNodeSilent: PortFacts['isNodeSilent'];
  /** Why Neutron makes no port for it, as far as it has been asked. */
  refusalOf: (port: NetworkPort) => Wait | undefined;
  randomMac: () => string;
};

export type WaitReason =
  | 'AddressNotAllowed'
  | 'AnnotationInvalid'
  | 'CannotBeKept'
  | 'FixedAddressNotFree'
  | 'NetworkNotReady'
  | 'NoFreeAddress'
  | 'NotObeyed'
  | 'PodBefore'
  /** Its port in Neutron is not there, or has no security groups yet. */
  | 'PortNotReady';
export type Wait = {
  reason: WaitReason;
  message: string;
  networks: readonly string[];
  /** Nothing says that it will not have what it has claimed. */
  isPassing?: true;
};

export type Claim = {
  ask: Ask;
  network: string;
  spec: NetworkPortSpec;
  plan: Plan;
  /** It is claimed already. */
  has: boolean;
  /** It is taken over: of the same owner, resting or kept for it, or of a pool. */
  resting?: NetworkPort;
};
export type Decision = { wait: Wait } | { claims: readonly Claim[] };

/** No pod has it, and the next one of its owner gets it. */
export const isKept = (port: NetworkPort): boolean =>
  !isReleased(port) && port.status?.keptSince !== undefined;

/** A pod has it. */
export const isHeld = (port: NetworkPort): boolean =>
  !isReleased(port) && !isKept(port) && !isUnclaimed(port);

export const nameOfPod = ({ namespace, pod }: NetworkPortSpec['claim']): string =>
  `${namespace}/${pod}`;

export const decidePod = (pod: WaitingPod, view: View): Decision => {
  const asks = managedAsks(pod, view);
  if ('wait' in asks) return asks;
  const claims: Claim[] = [];
  for (const ask of asks) {
    const known = view.networkOf(ask.name);
    if (known === undefined) continue;
    const claim = claimFor(ask, pod, known, { claims, view });
    if ('reason' in claim) return { wait: claim };
    const lacks = ask.by === 'multus' ? view.lacksOf(ask.name) : undefined;
    if (lacks !== undefined)
      return waits(
        'NotObeyed',
        `attachment ${ask.name} ${lacks}, so its CNI would give another address`,
      );
    claims.push(claim);
  }
  return { claims };
};

const managedAsks = (pod: WaitingPod, { networkOf }: View): { wait: Wait } | readonly Ask[] => {
  const read = asksIn(pod.texts, pod.namespace);
  if ('problem' in read) return waits('AnnotationInvalid', read.problem);
  const isManaged = (name: string): boolean => networkOf(name) !== undefined;
  const inherits = inheriting(read.asks, isManaged);
  if (inherits !== undefined)
    return waits(
      'AnnotationInvalid',
      `interface ${inherits} is of no managed network and has no ipAddress and macAddress of its own: Nodus would give it those of the interface before it`,
    );
  const asks = read.asks.filter(({ name }) => isManaged(name));
  const { keeper } = pod;
  return keeper && 'problem' in keeper && asks.length > 0
    ? waits('CannotBeKept', keeper.problem)
    : asks;
};

const waits = (reason: WaitReason, message: string, network?: string): { wait: Wait } => ({
  wait: { reason, message, networks: network === undefined ? [] : [network] },
});

const claimFor = (
  ask: Ask,
  pod: WaitingPod,
  known: KnownNetwork,
  { claims: before, view }: { claims: readonly Claim[]; view: View },
): Claim | Wait => {
  const { object, plan, ports } = known;
  const network = object.metadata.name;
  const wait = (reason: WaitReason, message: string): Wait => waits(reason, message, network).wait;
  const refused = refusedTo(pod.namespace, object);
  if (refused !== undefined) return wait('AddressNotAllowed', refused);
  if ('problem' in plan)
    return {
      ...wait('NetworkNotReady', `network ${network}: ${plan.problem}`),
      ...(plan.reason === NOT_ASKED && { isPassing: true }),
    };
  const own = ports
    .ofPod(pod.uid)
    .find((port) => isOf(port, pod.uid, ask.interface) && isAsked(port, ask, plan));
  if (own) return { ask, network, plan, spec: own.spec, has: true };
  const kept = keptFor(ask, pod, plan, { ports, view });
  if (kept && 'held' in kept) return wait('PodBefore', kept.held);
  // Taken over, it would be given back at once, and that would have this pod looked at again.
  const refusal = kept && view.refusalOf(kept.resting);
  if (refusal) return refusal;
  if (kept) return { ask, network, plan, has: false, ...kept };
  const chosen = before.filter((claim) => claim.network === network);
  const found = newFor({ ask, pod, known, plan, chosen, view });
  return 'reason' in found ? wait(found.reason, found.problem) : found;
};

/** Why no pod of the namespace gets an address of the network. Undefined: they do. */
export const refusedTo = (
  namespace: string,
  { metadata, spec: { namespaces = [] } }: ManagedNetwork,
): string | undefined =>
  namespaces.includes(namespace)
    ? undefined
    : `namespace ${namespace} gets no address of network ${metadata.name}: spec.namespaces has ${few(namespaces) || 'none'}`;

const newFor = (wanted: Wanted): Claim | { reason: WaitReason; problem: string } => {
  const { ask, pod, known, plan, chosen, view } = wanted;
  const more = chosen.filter(isMore).length;
  const exceeded = shareExceeded(pod.namespace, known, more);
  const canTakeOver = !plan.neutron && shareExceeded(pod.namespace, known, more - 1) === undefined;
  if (exceeded !== undefined && !canTakeOver) return { reason: 'NoFreeAddress', problem: exceeded };
  const network = known.object.metadata.name;
  const claim = claimOf(pod, ask.interface);
  const resting = known.ports
    .available()
    .find(
      (port) =>
        isAsked(port, ask, plan) &&
        !view.refusalOf(port) &&
        isAsPlanned(port, known.object, plan.neutron) &&
        !chosen.some((one) => one.resting === port),
    );
  if (resting) return { ask, network, plan, spec: { ...resting.spec, claim }, has: false, resting };
  const inNeutron =
    plan.neutron && claimInNeutron({ ...wanted, ...view, neutron: plan.neutron, usersOf });
  if (inNeutron)
    return 'reason' in inNeutron
      ? inNeutron
      : { ask, network, plan, spec: { network, ...inNeutron, claim, managed: true }, has: false };
  return indexed(wanted, exceeded);
};

/** `exceeded`: only an address that rests for its owner is no more than the share. */
const indexed = (
  wanted: Wanted,
  exceeded: string | undefined,
): Claim | { reason: WaitReason; problem: string } => {
  const { ask, pod, known, plan } = wanted;
  const { name: network, uid } = known.object.metadata;
  const found = indexFor(wanted, exceeded === undefined);
  if ('problem' in found) {
    const isFixed = ask.fixed.length > 0 && exceeded === undefined;
    const reason = isFixed ? 'FixedAddressNotFree' : 'NoFreeAddress';
    return { reason, problem: exceeded ?? found.problem };
  }
  const { index } = found;
  const mac = ask.mac?.toLowerCase() ?? macAt(uid, index);
  const addresses = addressesAt(plan, index);
  const claim = claimOf(pod, ask.interface);
  const spec = { network, index, mac, addresses, claim, managed: true };
  return { ask, network, plan, spec, has: false, ...(found.resting && { resting: found.resting }) };
};

export const claimOf = (
  pod: Omit<WaitingPod, 'texts'>,
  device: string,
): NetworkPortSpec['claim'] => ({
  namespace: pod.namespace,
  pod: pod.name,
  uid: pod.uid,
  interface: device,
  ...(pod.owner !== undefined && { owner: pod.owner }),
  ...(isKeeper(pod.keeper) && { keeper: pod.keeper }),
});

/**
 * It was the pod's before this one: of the same keeper, in a StatefulSet of the same name. It is
 * kept, or another pod has it.
 */
export const isOfSlot = (
  port: NetworkPort,
  { keeper, namespace, name, uid }: Omit<WaitingPod, 'texts'>,
  device: string = port.spec.claim.interface,
): boolean => {
  const { claim } = port.spec;
  return (
    isKeeper(keeper) &&
    claim.keeper?.uid === keeper.uid &&
    claim.namespace === namespace &&
    claim.interface === device &&
    (keeper.kind === 'Deployment' || claim.pod === name) &&
    (isKept(port) || (isHeld(port) && claim.uid !== uid))
  );
};

export const isKeeper = (keeper: WaitingPod['keeper']): keeper is Keeper =>
  keeper !== undefined && !('problem' in keeper);

/** `held`: by the pod before it, in words. Undefined: nothing is kept for it. */
const keptFor = (
  ask: Ask,
  pod: WaitingPod,
  plan: Plan,
  { ports, view }: { ports: Claims; view: View },
): { held: string } | Required<Pick<Claim, 'resting' | 'spec'>> | undefined => {
  if (!isKeeper(pod.keeper)) return undefined;
  const earlier = ports
    .ofKeeper(pod.keeper.uid)
    .filter((port) => isOfSlot(port, pod, ask.interface));
  const held = earlier.find(isHeld);
  if (held) return { held: beforeMessage(held, pod, view) };
  const resting = earlier.find((port) => isAsked(port, ask, plan));
  return resting && { resting, spec: keptSpec(resting, pod) };
};

const keptSpec = ({ spec }: NetworkPort, pod: WaitingPod): NetworkPortSpec => {
  const { interface: device, uid, before } = spec.claim;
  const from = uid === pod.uid ? before : uid;
  return {
    ...spec,
    claim: { ...claimOf(pod, device), ...(from !== undefined && { before: from }) },
  };
};

/** Pods of one ordinal have one name. */
const beforeMessage = ({ metadata, spec, status }: NetworkPort, pod: WaitingPod, view: View) => {
  const { claim, addresses } = spec;
  const silent = status?.node !== undefined && view.isNodeSilent(status.node) === true;
  return [
    `pod ${pod.namespace}/${pod.name} (${pod.uid}) gets ${addresses.join(' ')} of NetworkPort ${metadata.name} when pod ${nameOfPod(claim)} (${claim.uid}) is gone or has ended`,
    ...(silent
      ? [
          `node ${status.node} of that pod does not answer: start it, delete the Node, or taint it ${OUT_OF_SERVICE}`,
        ]
      : []),
  ].join('; ');
};

/** Its namespace has one more by it than before. */
const isMore = ({ has, resting }: Claim): boolean => !has && (!resting || isUnclaimed(resting));

/** `more`: what a pod is to have beside the one that it needs. */
export const shareExceeded = (
  namespace: string,
  { object, ports }: Pick<KnownNetwork, 'object' | 'ports'>,
  more = 0,
): string | undefined => {
  const { perNamespace } = object.spec;
  if (perNamespace === undefined) return undefined;
  const held = ports.countOf(namespace);
  return held + more < perNamespace
    ? undefined
    : `namespace ${namespace} has ${held} of at most ${perNamespace} addresses of network ${object.metadata.name}, those that rest too, and needs ${more + 1} more`;
};

type Wanted = {
  ask: Ask;
  pod: WaitingPod;
  known: KnownNetwork;
  plan: Plan;
  /** For other interfaces of the pod. */
  chosen: readonly Claim[];
  view: View;
};

/** `mayBeMore`: not only one that rests for its owner. */
const indexFor = (
  { ask, pod: { owner, namespace }, known, plan, chosen }: Wanted,
  mayBeMore: boolean,
): { index: number; resting?: NetworkPort | undefined } | { problem: string } => {
  const isChosen = new Set(chosen.map(({ spec }) => spec.index));
  const restingAt = (index: number): NetworkPort | undefined => {
    const port = known.ports.at(index);
    // A pod can name any uid as its owner, one of another namespace too.
    const isOwners =
      owner !== undefined &&
      port?.spec.claim.owner === owner &&
      port.spec.claim.namespace === namespace;
    return isOwners && isReleased(port) && !isChosen.has(index) ? port : undefined;
  };
  const isFree = (index: number): boolean =>
    mayBeMore && !known.ports.at(index) && !known.foreign.has(index) && !isChosen.has(index);
  const { doubtful } = known;
  const isCertain = (index: number): boolean => isFree(index) && !doubtful.has(index);
  if (ask.fixed.length > 0) {
    // It waits for a doubtful one: else a user that fixes the address of a running pod gets it at
    // once, and no policy isolates that pod any more. A liar has only such pods wait, and the Event
    // names it; those that fix none get doubtful ones, or a liar could use up the network.
    const index = fixedIndex(ask, known, plan, (one) => isCertain(one) || !!restingAt(one));
    return typeof index === 'number' ? { index, resting: restingAt(index) } : index;
  }
  const free = plan.indexes.find(isCertain) ?? plan.indexes.find(isFree);
  if (free !== undefined) return { index: free };
  const rested = plan.indexes.find(restingAt);
  return rested === undefined
    ? { problem: fullMessage(known, plan) }
    : { index: rested, resting: restingAt(rested) };
};

const isOf = (port: NetworkPort, uid: string, name: string): boolean =>
  isHeld(port) && port.spec.claim.uid === uid && port.spec.claim.interface === name;

/** The annotation can have changed since it was claimed. */
const isAsked = ({ spec }: NetworkPort, { fixed, mac }: Ask, plan: Plan): boolean =>
  (fixed.length === 0 ||
    (plan.neutron ? isAskedInNeutron(spec, fixed) : commonIndexOf(plan, fixed) === spec.index)) &&
  (mac === undefined || mac.toLowerCase() === spec.mac);

const fixedIndex = (
  { fixed, interface: name }: Ask,
  { object, ports, foreign, doubtful }: KnownNetwork,
  plan: Plan,
  isFree: (index: number) => boolean,
): number | { problem: string } => {
  const wanted = `${fixed.join(' ')} for interface ${name}`;
  const network = object.metadata.name;
  const index = commonIndexOf(plan, fixed);
  if (typeof index !== 'number')
    return { problem: `${wanted}: of network ${network}, ${index.problem}` };
  if (!plan.indexes.includes(index))
    return { problem: `${wanted}: network ${network} gives ${plan.range}` };
  if (isFree(index)) return index;
  const port = ports.at(index);
  const said = foreign.get(index) ?? doubtful.get(index);
  const user = port ? usersOf(port) : `${said ?? 'the pod itself'} has it`;
  return { problem: `${wanted}: ${user}, of ${plan.range} of network ${network}` };
};

const usersOf = (port: NetworkPort): string =>
  isUnclaimed(port)
    ? `NetworkPort ${port.metadata.name} of a pool has it`
    : `pod ${nameOfPod(port.spec.claim)} ${howHeld(port)}`;

const howHeld = (port: NetworkPort): string => {
  const { keeper } = port.spec.claim;
  if (isKept(port)) return `had it, and ${keeper?.kind} ${keeper?.name} keeps it`;
  return isReleased(port) ? 'had it until some seconds ago' : 'has it';
};

const fullMessage = ({ object, ports: claims, foreign }: KnownNetwork, plan: Plan): string => {
  const ports = claims.all();
  const resting = ports.filter(isReleased).length;
  const kept = ports.filter(isKept).length;
  const users = [
    `${ports.filter(isHeld).length} have pods`,
    ...(kept > 0 ? [`${kept} are kept for the next pod of their owner`] : []),
    ...(resting > 0 ? [`${resting} rest`] : []),
    ...(foreign.size > 0 ? [`${foreign.size} are in use without a NetworkPort`] : []),
  ];
  return `network ${object.metadata.name} has no free address: of ${plan.indexes.length} in ${plan.range} ${users.join(', ')}`;
};

/** What the pod's annotations are to be, with the names of its NetworkPorts. */
export const annotationsFor = (
  texts: AskTexts,
  claims: readonly Claim[],
): { annotations: Record<string, string>; ports: Record<string, string> } => {
  const given = claims.map(({ ask, plan, spec }) => ({
    ask,
    addresses: spec.addresses,
    lengths: withLengths(plan, spec.addresses),
    mac: spec.mac,
  }));
  return {
    annotations: filled(texts, given),
    ports: Object.fromEntries(claims.map(({ ask, spec }) => [ask.interface, portName(spec)])),
  };
};

export type PortFacts = {
  now: number;
  /** The pod of that uid, as far as it is there and has not ended. */
  pod: { node: string | undefined } | undefined;
  /** It does not answer, and nothing says that it is off. Undefined: there is none of that name. */
  isNodeSilent: (name: string) => boolean | undefined;
};

export type PortStep =
  | { step: 'none' }
  | { step: 'note'; node: string }
  /** Or kept, as its keeper is. That the pod is gone is known from a watch, which can be behind. */
  | { step: 'release' }
  | { step: 'rest'; forMs: number }
  | { step: 'held'; node: string }
  | { step: 'delete' };

export const decidePort = (port: NetworkPort, facts: PortFacts): PortStep => {
  const { releasedAt, node, portID } = port.status ?? {};
  if (releasedAt === undefined)
    return facts.pod ? ofPod(facts.pod, node, facts) : withoutPod(node, facts);
  // Neutron does not show yet what it is making, and would not delete it.
  const isInBulk = poolOf(port) !== undefined && portID === undefined;
  const madeBy = isInBulk ? Date.parse(port.metadata.creationTimestamp) + BULK_MS : 0;
  const forMs = Math.max(Date.parse(releasedAt) + REST_MS, madeBy) - facts.now;
  return forMs > 0 ? { step: 'rest', forMs } : { step: 'delete' };
};

const ofPod = (
  pod: NonNullable<PortFacts['pod']>,
  noted: string | undefined,
  { isNodeSilent }: PortFacts,
): PortStep => {
  if (pod.node === undefined) return { step: 'none' };
  if (isNodeSilent(pod.node) === undefined) return { step: 'release' };
  return pod.node === noted ? { step: 'none' } : { step: 'note', node: pod.node };
};

/** Its containers may run as long as its kubelet does not answer. */
const withoutPod = (node: string | undefined, { isNodeSilent }: PortFacts): PortStep =>
  node !== undefined && isNodeSilent(node) === true ? { step: 'held', node } : { step: 'release' };
