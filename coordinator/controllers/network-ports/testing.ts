/** A network of three addresses, pods that ask for one, and NetworkPorts. */
import type {
  ManagedNetwork,
  ManagedNetworkSpec,
} from '#shared/resources/other-kinds/managed-network.ts';
import type { NetworkPort } from '#shared/resources/other-kinds/network-port.ts';
import { Claims } from './claims.ts';
import type { Decision, KnownNetwork, View, Wait, WaitingPod } from './decide.ts';
import { NO_FOREIGN } from './foreign.ts';
import type { Keeper } from './keep-addresses.ts';
import { addressesAt, planOf, portName, randomMac } from './subnets.ts';

export const networkObject = (
  some: Partial<ManagedNetworkSpec> = {},
  name = 'edge-net',
): ManagedNetwork => ({
  apiVersion: 'network.sdewan.akraino.org/v1alpha1',
  kind: 'ManagedNetwork',
  metadata: {
    name,
    namespace: '',
    uid: `uid-of-${name}`,
    resourceVersion: '1',
    creationTimestamp: '2026-01-01T00:00:00Z',
  },
  spec: {
    provider: 'static',
    names: ['net-a'],
    subnets: [
      { cidr: '10.1.0.0/24', ranges: ['10.1.0.1-10.1.0.3'] },
      { cidr: 'fd00::/64', ranges: ['fd00::1-fd00::3'] },
    ],
    namespaces: ['edge'],
    ...some,
  },
});

export type SomeKnown = Partial<Omit<KnownNetwork, 'ports'>> & {
  ports?: readonly NetworkPort[];
  name?: string;
  names?: string[];
};

export const known = ({ name, names, ports, ...some }: SomeKnown = {}): KnownNetwork => {
  const object = some.object ?? networkObject({ ...(names && { names }) }, name);
  const plan = planOf(object.spec);
  return { object, plan, ports: new Claims(ports), ...NO_FOREIGN, ...some };
};

export const view = (
  networks: readonly KnownNetwork[],
  lacksOf: View['lacksOf'] = () => undefined,
  refused: ReadonlyMap<string, Wait> = new Map(),
): View => ({
  networkOf: (name) => networks.find(({ object }) => object.spec.names.includes(name)),
  lacksOf,
  isNodeSilent: (name) => name === 'silent',
  refusalOf: ({ metadata }) => refused.get(metadata.name),
  randomMac,
});

type SomePod = {
  keeper?: WaitingPod['keeper'];
  namespace?: string;
  owner?: string;
  interfaces?: string[];
  fixed?: string;
  mac?: string;
};

export const pod = (
  name: string,
  { namespace = 'edge', keeper, owner, interfaces = ['net-a'], fixed, mac }: SomePod = {},
): WaitingPod => ({
  namespace,
  name,
  uid: name,
  owner,
  keeper,
  texts: {
    nfn: JSON.stringify({
      type: 'ovn4nfv',
      interface: interfaces.map((network, at) => ({
        name: network,
        interface: `net${at}`,
        ...(fixed !== undefined && { ipAddress: fixed }),
        ...(mac !== undefined && { macAddress: mac }),
      })),
    }),
  },
});

type SomePort = {
  releasedAt?: number;
  keptSince?: number;
  node?: string;
  owner?: string;
  keeper?: Keeper;
};

/** `uid`: of the pod, and its name. */
export const port = (
  index: number,
  uid: string,
  network = 'edge-net',
  { releasedAt, keptSince, node, owner, keeper }: SomePort = {},
): NetworkPort => {
  const plan = planOf(networkObject().spec);
  if ('problem' in plan) throw new Error(plan.problem);
  return {
    apiVersion: 'network.sdewan.akraino.org/v1alpha1',
    kind: 'NetworkPort',
    metadata: {
      name: portName({ network, index, mac: '' }),
      namespace: '',
      uid: `uid-of-${network}-${index}`,
      resourceVersion: '1',
      creationTimestamp: '2026-01-01T00:00:00Z',
    },
    spec: {
      network,
      index,
      mac: '02:00:00:00:00:01',
      addresses: addressesAt(plan, index),
      claim: {
        namespace: 'edge',
        pod: uid,
        uid,
        interface: 'net0',
        ...(owner !== undefined && { owner }),
        ...(keeper && { keeper }),
      },
      managed: true,
    },
    status: {
      ...(releasedAt !== undefined && { releasedAt: new Date(releasedAt).toISOString() }),
      ...(keptSince !== undefined && { keptSince: new Date(keptSince).toISOString() }),
      ...(node !== undefined && { node }),
    },
  };
};

export const claimsOf = (decision: Decision): string[] =>
  'claims' in decision
    ? decision.claims.map(
        ({ ask, spec }) => `${ask.interface} ${portName(spec)} ${spec.addresses.join(' ')}`,
      )
    : [];

export const reasonOf = (decision: Decision): string =>
  'wait' in decision ? `${decision.wait.reason}: ${decision.wait.message}` : 'it has them';
