/**
 * Which addresses a pod that waits gets, or why it gets none; and what becomes of a NetworkPort
 * whose pod is gone. Pure: the same facts come to the same.
 */
import { few } from '#shared/util/few.ts';
import type { NetworkPort, NetworkPortSpec } from '#shared/resources/other-kinds/network-port.ts';
import type { ManagedNetwork } from '#shared/resources/other-kinds/managed-network.ts';
import { asksIn, filled, inheriting, type Ask, type AskTexts } from './asks.ts';
import { addressesAt, commonIndexOf, macAt, withLengths, type Plan } from './subnets.ts';

/** Caches, conntrack and policies still know the address for so long. */
export const REST_MS = 30_000;

export type WaitingPod = {
  namespace: string;
  name: string;
  uid: string;
  /** uid of its controller. */
  owner: string | undefined;
  texts: AskTexts;
};

export type KnownNetwork = {
  object: ManagedNetwork;
  /** `problem`: why it gives nothing to any pod. */
  plan: Plan | { problem: string };
  /** Its NetworkPorts, those that rest as well. */
  ports: readonly NetworkPort[];
  /** Indexes in use without a NetworkPort, and by which pod. */
  foreign: ReadonlyMap<number, string>;
};

export type View = {
  /** By what pods call it. */
  networkOf: (name: string) => KnownNetwork | undefined;
  /** What an attachment of Multus does not take: `ips`, `mac`. */
  lacksOf: (attachment: string) => string | undefined;
};

export type WaitReason =
  | 'AddressNotAllowed'
  | 'AnnotationInvalid'
  | 'FixedAddressNotFree'
  | 'NetworkNotReady'
  | 'NoFreeAddress'
  | 'NotObeyed';
export type Wait = { reason: WaitReason; message: string; networks: readonly string[] };

export type Claim = {
  ask: Ask;
  network: string;
  spec: NetworkPortSpec;
  plan: Plan;
  /** It is claimed already. */
  has: boolean;
  /** One that rests, of the same owner: it is taken over. */
  resting?: NetworkPort;
};
export type Decision = { wait: Wait } | { claims: readonly Claim[] };

export const portName = (network: string, index: number): string => `${network}-${index}`;

export const isReleased = ({ status }: NetworkPort): boolean => status?.releasedAt !== undefined;

export const nameOfPod = ({ namespace, pod }: NetworkPortSpec['claim']): string =>
  `${namespace}/${pod}`;

export const decidePod = (pod: WaitingPod, view: View): Decision => {
  const read = asksIn(pod.texts, pod.namespace);
  if ('problem' in read) return waits('AnnotationInvalid', read.problem);
  const asks = read.asks.filter(({ name }) => view.networkOf(name) !== undefined);
  const inherits = inheriting(read.asks, (name) => view.networkOf(name) !== undefined);
  if (inherits !== undefined)
    return waits(
      'AnnotationInvalid',
      `interface ${inherits} is of no managed network and has no ipAddress and macAddress of its own: Nodus would give it those of the interface before it`,
    );
  const claims: Claim[] = [];
  for (const ask of asks) {
    const known = view.networkOf(ask.name);
    if (known === undefined) continue;
    const claim = claimFor(ask, pod, known, claims);
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

const waits = (reason: WaitReason, message: string, network?: string): { wait: Wait } => ({
  wait: { reason, message, networks: network === undefined ? [] : [network] },
});

const claimFor = (
  ask: Ask,
  pod: WaitingPod,
  known: KnownNetwork,
  before: readonly Claim[],
): Claim | Wait => {
  const { object, plan, ports } = known;
  const network = object.metadata.name;
  const wait = (reason: WaitReason, message: string): Wait => waits(reason, message, network).wait;
  const { namespaces = [] } = object.spec;
  if (!namespaces.includes(pod.namespace))
    return wait(
      'AddressNotAllowed',
      `namespace ${pod.namespace} gets no address of network ${network}: spec.namespaces has ${few(namespaces) || 'none'}`,
    );
  if ('problem' in plan) return wait('NetworkNotReady', `network ${network}: ${plan.problem}`);
  const own = ports.find((port) => isOf(port, pod.uid, ask.interface) && isAsked(port, ask, plan));
  if (own) return { ask, network, plan, spec: own.spec, has: true };
  const chosen = before.filter((claim) => claim.network === network);
  const exceeded = shareExceeded(pod, known, chosen);
  if (exceeded !== undefined) return wait('NoFreeAddress', exceeded);
  const found = indexFor({ ask, pod, known, plan, chosen });
  if ('problem' in found)
    return wait(ask.fixed.length > 0 ? 'FixedAddressNotFree' : 'NoFreeAddress', found.problem);
  const { index, resting } = found;
  const mac = ask.mac?.toLowerCase() ?? macAt(object.metadata.uid, index);
  const addresses = addressesAt(plan, index);
  const claim = claimOf(pod, ask.interface);
  const spec = { network, index, mac, addresses, claim, managed: true };
  return { ask, network, plan, spec, has: false, ...(resting && { resting }) };
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
});

const shareExceeded = (
  { namespace }: WaitingPod,
  { object, ports }: KnownNetwork,
  chosen: readonly Claim[],
): string | undefined => {
  const { perNamespace } = object.spec;
  if (perNamespace === undefined) return undefined;
  const held = ports.filter(
    (port) => !isReleased(port) && port.spec.claim.namespace === namespace,
  ).length;
  const more = chosen.filter(({ has }) => !has).length;
  return held + more < perNamespace
    ? undefined
    : `namespace ${namespace} has ${held} of at most ${perNamespace} addresses of network ${object.metadata.name}, and needs ${more + 1} more`;
};

type Wanted = {
  ask: Ask;
  pod: WaitingPod;
  known: KnownNetwork;
  plan: Plan;
  /** For other interfaces of the pod. */
  chosen: readonly Claim[];
};

const indexFor = ({
  ask,
  pod: { owner, namespace },
  known,
  plan,
  chosen,
}: Wanted): { index: number; resting?: NetworkPort | undefined } | { problem: string } => {
  const taken = new Map(known.ports.map((port) => [port.spec.index, port]));
  const isChosen = new Set(chosen.map(({ spec }) => spec.index));
  const restingAt = (index: number): NetworkPort | undefined => {
    const port = taken.get(index);
    // A pod can name any uid as its owner, one of another namespace too.
    const isOwners =
      owner !== undefined &&
      port?.spec.claim.owner === owner &&
      port.spec.claim.namespace === namespace;
    return isOwners && isReleased(port) && !isChosen.has(index) ? port : undefined;
  };
  const isFree = (index: number): boolean =>
    !taken.has(index) && !known.foreign.has(index) && !isChosen.has(index);
  if (ask.fixed.length > 0) {
    const index = fixedIndex(ask, known, plan, (one) => isFree(one) || !!restingAt(one));
    return typeof index === 'number' ? { index, resting: restingAt(index) } : index;
  }
  const free = plan.indexes.find(isFree);
  if (free !== undefined) return { index: free };
  const rested = plan.indexes.find(restingAt);
  return rested === undefined
    ? { problem: fullMessage(known, plan) }
    : { index: rested, resting: restingAt(rested) };
};

const isOf = (port: NetworkPort, uid: string, name: string): boolean =>
  !isReleased(port) && port.spec.claim.uid === uid && port.spec.claim.interface === name;

/** The annotation can have changed since it was claimed. */
const isAsked = ({ spec }: NetworkPort, { fixed, mac }: Ask, plan: Plan): boolean =>
  (fixed.length === 0 || commonIndexOf(plan, fixed) === spec.index) &&
  (mac === undefined || mac.toLowerCase() === spec.mac);

const fixedIndex = (
  { fixed, interface: name }: Ask,
  { object, ports, foreign }: KnownNetwork,
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
  const port = ports.find(({ spec }) => spec.index === index);
  const user = port ? nameOfPod(port.spec.claim) : (foreign.get(index) ?? 'the pod itself');
  const how = port && isReleased(port) ? 'had it until some seconds ago' : 'has it';
  return { problem: `${wanted}: pod ${user} ${how}, of ${plan.range} of network ${network}` };
};

const fullMessage = ({ object, ports, foreign }: KnownNetwork, plan: Plan): string => {
  const resting = ports.filter(isReleased).length;
  const users = [
    `${ports.length - resting} have pods`,
    ...(resting > 0 ? [`${resting} rest`] : []),
    ...(foreign.size > 0 ? [`${foreign.size} are in use by pods that did not wait for them`] : []),
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
    ports: Object.fromEntries(
      claims.map(({ ask, spec }) => [ask.interface, portName(spec.network, spec.index)]),
    ),
  };
};

export type PortFacts = {
  now: number;
  /** The pod of that uid, as far as it is there and has not ended. */
  pod: { node: string | undefined } | undefined;
  /** Undefined: there is none of that name. */
  isNodeReady: (name: string) => boolean | undefined;
};

export type PortStep =
  | { step: 'none' }
  | { step: 'note'; node: string }
  /** That the pod is gone is known from a watch, which can be behind. */
  | { step: 'release' }
  | { step: 'rest'; forMs: number }
  | { step: 'held'; node: string }
  | { step: 'delete' };

export const decidePort = (port: NetworkPort, facts: PortFacts): PortStep => {
  const { releasedAt, node } = port.status ?? {};
  if (releasedAt === undefined)
    return facts.pod ? ofPod(facts.pod, node, facts) : withoutPod(node, facts);
  const forMs = Date.parse(releasedAt) + REST_MS - facts.now;
  return forMs > 0 ? { step: 'rest', forMs } : { step: 'delete' };
};

const ofPod = (
  pod: NonNullable<PortFacts['pod']>,
  noted: string | undefined,
  { isNodeReady }: PortFacts,
): PortStep => {
  if (pod.node === undefined) return { step: 'none' };
  if (isNodeReady(pod.node) === undefined) return { step: 'release' };
  return pod.node === noted ? { step: 'none' } : { step: 'note', node: pod.node };
};

/** Its containers may run as long as its kubelet does not answer. */
const withoutPod = (node: string | undefined, { isNodeReady }: PortFacts): PortStep =>
  node !== undefined && isNodeReady(node) === false ? { step: 'held', node } : { step: 'release' };
