/** `sdewan ports` as a value and as text: which pod has which address in second networks. Pure. */
import * as z from 'zod';
import { PORTS_GATE } from '#shared/names.ts';
import type { ManagedNetwork } from '#shared/resources/other-kinds/managed-network.ts';
import { isUnclaimed, type NetworkPort } from '#shared/resources/other-kinds/network-port.ts';
import { asksOf } from '../../controllers/network-ports/asks.ts';
import { Claims, isReleased } from '../../controllers/network-ports/claims.ts';
import { isKept, nameOfPod } from '../../controllers/network-ports/decide.ts';
import {
  foreignOf,
  holderOf,
  indexesIn,
  indexesOfPod,
  type Holder,
} from '../../controllers/network-ports/foreign.ts';
import { isGated, isRunning, type PortPod } from '../../controllers/network-ports/objects.ts';
import { addressesAt, planOf, type Plan } from '../../controllers/network-ports/subnets.ts';
import type { VirtualAddress } from '../../controllers/network-ports/virtual-addresses.ts';
import { ageOf } from '../../views/output/age.ts';
import { API_VERSION, headOf } from '../../views/output/format.ts';
import { tableOrNone, titled } from '../../views/output/table.ts';
import type { ClusterEvent } from '../cluster/events.ts';

const count = () => z.int().optional();
const networkSchema = z.object({
  name: z.string(),
  ready: z.boolean().describe('It gives addresses.'),
  reason: z.string().describe('Unknown: the coordinator has not looked at it yet.'),
  message: z.string().optional(),
  free: count(),
  claimed: count(),
  resting: count(),
  foreign: count(),
});
const portSchema = z.object({
  name: z.string().describe('Of the NetworkPort.'),
  network: z.string(),
  addresses: z.array(z.string()),
  mac: z.string(),
  namespace: z.string(),
  pod: z.string(),
  interface: z.string(),
  keeper: z.string().optional().describe('What keeps them for its next pod.'),
  phase: z
    .enum(['Claimed', 'Active', 'Kept', 'Resting'])
    .describe(
      'Claimed: for a pod that has no node yet. Active: for one that has. Kept: for the next pod. Resting: for some seconds, for a pod of the same owner alone.',
    ),
  since: z.string().describe('RFC 3339. Of Claimed and Active when the NetworkPort was made.'),
  podState: z
    .enum(['Waiting', 'Pending', 'OnNode', 'Terminating', 'Ended', 'Gone'])
    .optional()
    .describe(
      'Waiting: for other addresses. Pending: for a node. Absent where pods cannot be seen.',
    ),
  node: z.string().optional(),
});
const foreignSchema = z.object({
  network: z.string(),
  addresses: z.array(z.string()).describe('Those of one offset.'),
  holder: z.string().describe('The pod or VirtualAddress that has one of them.'),
  given: z
    .enum(['Never', 'Last'])
    .describe(
      'Last: when no other is free, since its namespace gets none or has used up its share.',
    ),
});
const waitingSchema = z.object({
  namespace: z.string(),
  pod: z.string(),
  networks: z.array(z.string()).describe('As its annotations call them.'),
  since: z.string().describe('RFC 3339.'),
  reason: z.string().describe('Unknown: no Event says it.'),
  message: z.string().optional(),
});

export const portsViewSchema = z.object({
  ...headOf('Ports'),
  networks: z.array(networkSchema),
  ports: z.array(portSchema),
  foreign: z.array(foreignSchema).describe('Addresses in use without a NetworkPort.'),
  waiting: z.array(waitingSchema).describe('Pods behind our scheduling gate.'),
  conflicts: z
    .array(z.object({ network: z.string(), message: z.string() }))
    .describe('Addresses that two have, as far as is known.'),
  notSeen: z.array(z.string()).describe('Rights and kinds that are lacking.'),
});
export type PortsView = z.infer<typeof portsViewSchema>;
type Port = PortsView['ports'][number];

export type PortsFacts = {
  networks: readonly ManagedNetwork[];
  /** Those of all networks and namespaces. */
  ports: readonly NetworkPort[];
  /** These three of the namespace; undefined where they cannot be seen. */
  pods: readonly PortPod[] | undefined;
  moving: readonly VirtualAddress[] | undefined;
  events: readonly ClusterEvent[] | undefined;
  /** Undefined: of all. */
  namespace: string | undefined;
  notSeen: readonly string[];
};

export const portsViewOf = (facts: PortsFacts): PortsView => {
  const { networks, ports, pods = [], events = [], namespace, notSeen } = facts;
  const names = new Set(networks.map(({ metadata }) => metadata.name));
  const callNames = new Set(networks.flatMap(({ spec }) => spec.names));
  const podsByUid = new Map(pods.map((pod) => [pod.metadata.uid, pod]));
  return {
    apiVersion: API_VERSION,
    kind: 'Ports',
    networks: networks.map(networkOf),
    ports: ports
      .filter((port) => names.has(port.spec.network) && !isUnclaimed(port))
      .filter(({ spec }) => namespace === undefined || spec.claim.namespace === namespace)
      .sort(
        (a, b) =>
          order(a.spec.network, b.spec.network) || (a.spec.index ?? 0) - (b.spec.index ?? 0),
      )
      .map((port) => portOf(port, facts.pods && podsByUid)),
    foreign: networks.flatMap((network) => foreignIn(network, facts)),
    waiting: pods
      .filter((pod) => isGated(pod) && !pod.isGoing && !pod.hasEnded)
      .map((pod) => waitingOf(pod, events))
      .filter((one) => one.networks.some((name) => callNames.has(name))),
    conflicts: networks.flatMap((network) => conflictsIn(network, facts)),
    notSeen: [...notSeen],
  };
};

const order = (one: string, other: string): number => (one < other ? -1 : one > other ? 1 : 0);

const networkOf = ({ metadata, status = {} }: ManagedNetwork): PortsView['networks'][number] => {
  const ready = status.conditions?.find(({ type }) => type === 'Ready');
  const { free, claimed, resting, foreign } = status;
  return {
    name: metadata.name,
    ready: ready?.status === 'True',
    reason: ready?.reason ?? 'Unknown',
    ...(ready && { message: ready.message }),
    free,
    claimed,
    resting,
    foreign,
  };
};

const portOf = (port: NetworkPort, pods: ReadonlyMap<string, PortPod> | undefined): Port => {
  const { metadata, spec, status = {} } = port;
  const { network, addresses, mac, claim } = spec;
  const { namespace, pod, interface: device, keeper } = claim;
  return {
    name: metadata.name,
    network,
    addresses,
    mac,
    namespace,
    pod,
    interface: device,
    ...(keeper && { keeper: `${keeper.kind}/${keeper.name}` }),
    phase: phaseOf(port),
    since: status.releasedAt ?? status.keptSince ?? metadata.creationTimestamp,
    ...(pods && { podState: stateOf(pods.get(claim.uid)) }),
    ...(status.node !== undefined && { node: status.node }),
  };
};

const phaseOf = (port: NetworkPort): Port['phase'] => {
  if (isReleased(port)) return 'Resting';
  if (isKept(port)) return 'Kept';
  return port.status?.active === true ? 'Active' : 'Claimed';
};

const stateOf = (pod: PortPod | undefined): Port['podState'] => {
  if (pod === undefined) return 'Gone';
  if (pod.hasEnded) return 'Ended';
  if (pod.isGoing) return 'Terminating';
  if (pod.node !== undefined) return 'OnNode';
  return isGated(pod) ? 'Waiting' : 'Pending';
};

const planned = ({ spec }: ManagedNetwork): Plan | undefined => {
  const plan = planOf(spec);
  return 'problem' in plan ? undefined : plan;
};
const portsIn = ({ metadata }: ManagedNetwork, ports: readonly NetworkPort[]): NetworkPort[] =>
  ports.filter(({ spec }) => spec.network === metadata.name);

const movingIn = (plan: Plan, { moving = [] }: PortsFacts): Holder[] =>
  moving.map((one) => holderOf(one, indexesIn(plan, one.addresses)));

const foreignIn = (network: ManagedNetwork, facts: PortsFacts): PortsView['foreign'] => {
  const plan = planned(network);
  if (plan === undefined) return [];
  const running = (facts.pods ?? []).filter(isRunning);
  const found = foreignOf(network, new Claims(portsIn(network, facts.ports)), [
    ...running.map((pod) => holderOf(pod, indexesOfPod(pod, network, plan), 'pod')),
    ...movingIn(plan, facts),
  ]);
  const shown = (given: 'Never' | 'Last', held: ReadonlyMap<number, string>) =>
    [...held].map(([index, holder]) => {
      const addresses = addressesAt(plan, index);
      return { network: network.metadata.name, addresses, holder, given };
    });
  return [...shown('Never', found.foreign), ...shown('Last', found.doubtful)];
};

const waitingOf = (pod: PortPod, events: readonly ClusterEvent[]): PortsView['waiting'][number] => {
  const { namespace, name, uid, creationTimestamp } = pod.metadata;
  const told = events
    .filter(({ involvedObject, message }) => involvedObject.uid === uid && WAITS.test(message))
    .sort((a, b) => order(lastOf(a), lastOf(b)))
    .at(-1);
  return {
    namespace,
    pod: name,
    networks: [...new Set(asksOf(pod.texts, namespace).map((ask) => ask.name))],
    since: creationTimestamp,
    reason: told?.reason ?? 'Unknown',
    ...(told && { message: told.message.replace(WAITS, '') }),
  };
};

/** How the coordinator begins what it tells of such a pod, and no other component does. */
const WAITS = /^waits for its addresses(?:: |, )/;
const lastOf = ({ lastTimestamp, eventTime }: ClusterEvent): string =>
  lastTimestamp ?? eventTime ?? '';

/** What was not claimed for pods that ran already, and VirtualAddresses over addresses of pods. */
const conflictsIn = (network: ManagedNetwork, facts: PortsFacts): PortsView['conflicts'] => {
  const { name } = network.metadata;
  const plan = planned(network);
  const claims = new Map(
    portsIn(network, facts.ports).flatMap((port) =>
      isReleased(port) ? [] : [[port.spec.index, port] as const],
    ),
  );
  const doubled = plan ? movingIn(plan, facts) : [];
  const messages = doubled.flatMap(({ words, indexes }) =>
    indexes.flatMap((index) => {
      const { spec } = claims.get(index) ?? {};
      return spec ? [`${words}: pod ${nameOfPod(spec.claim)} has ${spec.addresses.join(' ')}`] : [];
    }),
  );
  return [...(network.status?.conflicts ?? []), ...messages].map((message) => ({
    network: name,
    message,
  }));
};

type Shown = { isWide: boolean; now: number };

const orNone = (value: string | number | undefined): string => String(value ?? '-');

export const portsText = (view: PortsView, { isWide, now }: Shown): string =>
  titled([
    [
      'Networks',
      tableOrNone(
        ['NETWORK', 'READY', 'REASON', 'FREE', 'CLAIMED', 'RESTING', 'FOREIGN', 'MESSAGE'],
        view.networks.map((one) => [
          one.name,
          one.ready ? 'yes' : 'no',
          one.reason,
          ...[one.free, one.claimed, one.resting, one.foreign, one.message].map(orNone),
        ]),
      ),
    ],
    ['NetworkPorts', portsTable(view.ports, { isWide, now })],
    [
      'In use without a NetworkPort',
      tableOrNone(
        ['NETWORK', 'ADDRESSES', 'HELD BY', 'GIVEN'],
        view.foreign.map((one) => [
          one.network,
          one.addresses.join(' '),
          one.holder,
          one.given === 'Never' ? 'never' : 'when no other is free',
        ]),
      ),
    ],
    [
      'Pods that wait',
      tableOrNone(
        ['POD', 'NETWORKS', 'FOR', 'REASON', 'MESSAGE'],
        view.waiting.map((one) => [
          `${one.namespace}/${one.pod}`,
          one.networks.join(' '),
          ageOf(one.since, now),
          one.reason,
          one.message ?? `it has gate ${PORTS_GATE}`,
        ]),
      ),
    ],
    [
      'Conflicts',
      tableOrNone(
        ['NETWORK', 'MESSAGE'],
        view.conflicts.map(({ network, message }) => [network, message]),
      ),
    ],
  ]);

const portsTable = (ports: PortsView['ports'], { isWide, now }: Shown): string =>
  tableOrNone(
    [
      'NETWORK',
      'ADDRESSES',
      'MAC',
      'POD',
      'INTERFACE',
      'KEPT FOR',
      'PHASE',
      'SINCE',
      'POD STATE',
      ...(isWide ? ['NODE', 'NAME'] : []),
    ],
    ports.map((one) => [
      one.network,
      one.addresses.join(' '),
      one.mac,
      `${one.namespace}/${one.pod}`,
      one.interface,
      orNone(one.keeper),
      one.phase,
      ageOf(one.since, now),
      orNone(one.podState),
      ...(isWide ? [orNone(one.node), one.name] : []),
    ]),
  );
