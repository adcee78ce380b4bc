import { describe, expect, it } from 'vitest';
import { NETWORKS_ANNOTATION, NFN_NETWORK_ANNOTATION, PORTS_GATE } from '#shared/names.ts';
import type { ManagedNetwork } from '#shared/resources/other-kinds/managed-network.ts';
import { portPods, type PortPod } from '../../controllers/network-ports/objects.ts';
import { networkObject, port } from '../../controllers/network-ports/testing.ts';
import { virtualAddresses } from '../../controllers/network-ports/virtual-addresses.ts';
import { eventResource } from '../cluster/events.ts';
import { portsText, portsViewOf, portsViewSchema, type PortsFacts } from './view.ts';

const MOMENT = '2026-01-01T00:00:00Z';
const NOW = Date.parse('2026-01-01T00:01:00Z');

const metadata = (name: string) => ({
  name,
  namespace: 'edge',
  uid: name,
  creationTimestamp: MOMENT,
});
const pod = (name: string, spec: object, annotations: object = {}, more: object = {}): PortPod =>
  portPods.schema.parse({
    apiVersion: 'v1',
    kind: 'Pod',
    metadata: { ...metadata(name), annotations, ...more },
    spec,
  });
const ON_NODE = { nodeName: 'n1' };
const asks = { [NFN_NETWORK_ANNOTATION]: '{"interface":[{"name":"net-a","interface":"net0"}]}' };
const waits = (name: string): PortPod =>
  pod(name, { schedulingGates: [{ name: PORTS_GATE }] }, asks);
const says = (name: string, ip: string): PortPod =>
  pod(name, ON_NODE, {
    ...asks,
    'k8s.plugin.opnfv.org/ovnInterfaces': JSON.stringify([{ ip_address: [ip], interface: 'net0' }]),
  });
const vip = (name: string, ...addresses: string[]) =>
  virtualAddresses.schema.parse({
    apiVersion: 'batch.sdewan.akraino.org/v1alpha1',
    kind: 'VirtualAddress',
    metadata: metadata(name),
    spec: { addresses },
  });
const event = (uid: string, reason: string, message: string, lastTimestamp: string) =>
  eventResource.schema.parse({
    apiVersion: 'v1',
    kind: 'Event',
    metadata: metadata(`${uid}.${reason}`),
    reason,
    message,
    lastTimestamp,
    involvedObject: { kind: 'Pod', uid },
  });

const network = (status: ManagedNetwork['status'] = {}): ManagedNetwork => ({
  ...networkObject(),
  status,
});
const view = (some: Partial<PortsFacts> = {}) =>
  portsViewOf({
    networks: [network()],
    ports: [],
    pods: [],
    moving: [],
    events: [],
    namespace: undefined,
    notSeen: [],
    ...some,
  });
const keeper = { kind: 'StatefulSet', name: 'db', uid: 'set' } as const;

describe('a NetworkPort', () => {
  const shown = (some: Partial<PortsFacts>) =>
    view(some).ports.map(({ pod: name, phase, since, podState, keeper: kept }) =>
      [name, phase, since, podState, kept].filter(Boolean).join(' '),
    );
  const active = (index: number, uid: string) => {
    const one = port(index, uid, undefined, { node: 'n1' });
    return { ...one, status: { ...one.status, active: true } };
  };

  it('has a phase, since when, and the state of its pod', () => {
    const ports = [
      active(7, 'silent'),
      port(1, 'other'),
      port(2, 'db-0', undefined, { keptSince: NOW, keeper }),
      port(3, 'old', undefined, { releasedAt: NOW }),
      active(4, 'runs'),
      active(5, 'goes'),
      port(6, 'waits'),
    ];
    const pods = [
      pod('other', {}),
      pod('runs', ON_NODE),
      pod('goes', ON_NODE, {}, { deletionTimestamp: MOMENT }),
      waits('waits'),
    ];
    expect(shown({ ports, pods })).toEqual([
      `other Claimed ${MOMENT} Pending`,
      'db-0 Kept 2026-01-01T00:01:00.000Z Gone StatefulSet/db',
      'old Resting 2026-01-01T00:01:00.000Z Gone',
      `runs Active ${MOMENT} OnNode`,
      `goes Active ${MOMENT} Terminating`,
      `waits Claimed ${MOMENT} Waiting`,
      `silent Active ${MOMENT} Gone`,
    ]);
    expect(shown({ ports: [port(1, 'other')], pods: undefined })).toEqual([
      `other Claimed ${MOMENT}`,
    ]);
  });

  it('is shown where its network and its namespace are asked for', () => {
    expect(shown({ ports: [port(1, 'p', 'other-net')] })).toEqual([]);
    expect(shown({ ports: [port(1, 'p')], namespace: 'shop' })).toEqual([]);
  });
});

describe('addresses in use without a NetworkPort', () => {
  it('are those of pods and VirtualAddresses, and given last without a share', () => {
    const object = networkObject({ perNamespace: 2 });
    const { foreign, conflicts } = view({
      networks: [{ ...object, status: { conflicts: ['pod edge/q: taken'] } }],
      ports: [port(3, 'p')],
      pods: [says('wild', '10.1.0.1/24'), says('p', '10.1.0.3')],
      moving: [vip('gw', '10.1.0.2/24', '10.1.0.3')],
    });
    expect(foreign.map(({ addresses, holder, given }) => [...addresses, holder, given])).toEqual([
      ['10.1.0.1', 'fd00::1', 'pod edge/wild', 'Never'],
      ['10.1.0.2', 'fd00::2', 'VirtualAddress edge/gw', 'Last'],
    ]);
    expect(conflicts.map(({ message }) => message)).toEqual([
      'pod edge/q: taken',
      'VirtualAddress edge/gw: pod edge/p has 10.1.0.3 fd00::3',
    ]);
  });
});

describe('a pod that waits', () => {
  it('says for which network and why, by the last Event of the coordinator', () => {
    const told = 'waits for its addresses: network edge-net has no free address';
    const { waiting } = view({
      pods: [
        waits('full'),
        waits('silent'),
        pod(
          'elsewhere',
          { schedulingGates: [{ name: PORTS_GATE }] },
          { [NETWORKS_ANNOTATION]: 'z' },
        ),
      ],
      events: [
        event('full', 'NoFreeAddress', told, '2026-01-01T00:00:03Z'),
        event('full', 'PodBefore', 'waits for its addresses: x', '2026-01-01T00:00:02Z'),
        event('full', 'FailedScheduling', 'no node', '2026-01-01T00:00:04Z'),
      ],
    });
    expect(waiting).toEqual([
      {
        namespace: 'edge',
        pod: 'full',
        networks: ['net-a'],
        since: MOMENT,
        reason: 'NoFreeAddress',
        message: 'network edge-net has no free address',
      },
      { namespace: 'edge', pod: 'silent', networks: ['net-a'], since: MOMENT, reason: 'Unknown' },
    ]);
  });
});

describe('the text', () => {
  it('has all of it, without what a terminal acts on', () => {
    const all = view({
      networks: [
        network({
          free: 1,
          claimed: 1,
          resting: 0,
          foreign: 1,
          conditions: [
            {
              type: 'Ready',
              status: 'True',
              reason: 'Ready',
              message: 'pods \u001B[2Jget addresses',
              lastTransitionTime: MOMENT,
            },
          ],
        }),
      ],
      ports: [port(1, 'p', undefined, { node: 'n1' })],
      pods: [pod('p', ON_NODE), waits('q')],
      moving: [vip('gw', '10.1.0.2')],
    });
    expect(portsViewSchema.parse(JSON.parse(JSON.stringify(all)))).toEqual(all);
    expect(portsText(all, { isWide: true, now: NOW })).toBe(`Networks:
NETWORK    READY   REASON   FREE   CLAIMED   RESTING   FOREIGN   MESSAGE
edge-net   yes     Ready    1      1         0         1         pods \\u001b[2Jget addresses

NetworkPorts:
NETWORK    ADDRESSES          MAC                 POD      INTERFACE   KEPT FOR   PHASE     SINCE   POD STATE   NODE   NAME
edge-net   10.1.0.1 fd00::1   02:00:00:00:00:01   edge/p   net0        -          Claimed   60s     OnNode      n1     edge-net-1

In use without a NetworkPort:
NETWORK    ADDRESSES          HELD BY                  GIVEN
edge-net   10.1.0.2 fd00::2   VirtualAddress edge/gw   never

Pods that wait:
POD      NETWORKS   FOR   REASON    MESSAGE
edge/q   net-a      60s   Unknown   it has gate network.sdewan.akraino.org/ports

Conflicts:
none
`);
  });
});
