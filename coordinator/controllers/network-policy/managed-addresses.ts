/**
 * Addresses that pods have in managed networks, by their NetworkPorts: the coordinator alone writes
 * these, while a user with the right to change a pod writes any address into its annotations.
 */
import { isDeepStrictEqual } from 'node:util';
import type { KubeClient } from '#shared/kube/client.ts';
import { Reflector } from '#shared/kube/informer/reflector.ts';
import { isAnswered } from '#shared/kube/informer/watch-state.ts';
import type { PolicyPod } from '#shared/policy/group-members.ts';
import { spelling } from '#shared/policy/address-blocks.ts';
import { bareName, type SecondAddresses } from '#shared/policy/networks.ts';
import {
  managedNetworkResource,
  type ManagedNetwork,
} from '#shared/resources/other-kinds/managed-network.ts';
import {
  networkPortResource,
  type NetworkPort,
} from '#shared/resources/other-kinds/network-port.ts';
import type { Clock } from '#shared/runtime/clock.ts';
import type { Logger } from '#shared/runtime/log.ts';
import { isReleased } from '../network-ports/claims.ts';
import { isAdopted } from '../network-ports/network-status.ts';

type Options = {
  client: KubeClient;
  clock: Clock;
  log: Logger;
  /** The pod with that uid has others now. */
  onPod: (uid: string) => void;
  /** Any pod may have others now. */
  onNetworks: () => void;
  onState: () => void;
};

export type ManagedAddresses = {
  /** The pod with the addresses that count. */
  seen: (pod: PolicyPod) => PolicyPod;
  /** All is known; where the kinds are not served there are none. */
  isKnown: () => boolean;
  run: (signal: AbortSignal) => Promise<void>;
};

export const createManagedAddresses = (options: Options): ManagedAddresses => {
  const { client, clock, log, onNetworks, onPod, onState } = options;
  const common = { client, clock, log, onState };
  const networks = new Reflector({
    ...common,
    resource: managedNetworkResource,
    onEvent: ({ type, object, old }) => {
      if (type !== 'updated' || !isDeepStrictEqual(partOf(object), partOf(old))) onNetworks();
    },
  });
  const ports = new Reflector({
    ...common,
    resource: networkPortResource,
    indices: { pod: ({ spec }) => [spec.claim.uid] },
    onEvent: ({ object, old }) => {
      onPod(object.spec.claim.uid);
      if (old && old.spec.claim.uid !== object.spec.claim.uid) onPod(old.spec.claim.uid);
    },
  });
  return {
    seen: (pod) => withManaged(pod, networks.store.list(), ports.store.by('pod', pod.uid)),
    isKnown: () => [networks, ports].every(({ state }) => isAnswered(state)),
    run: async (signal) => {
      await Promise.all([networks.run(signal), ports.run(signal)]);
    },
  };
};

/** None of a network whose running pods are not claimed yet: their annotations still count. */
const namesOf = (network: ManagedNetwork): string[] =>
  isAdopted(network)
    ? [...new Set(network.spec.names.flatMap((name) => [name, bareName(name)]))]
    : [];

/** What of a network the addresses of pods depend on. */
const partOf = (network: ManagedNetwork): unknown => [namesOf(network), reservedOf(network)];

/** Those of routers: no pod may have them isolated. */
const reservedOf = ({ spec: { subnets = [] } }: ManagedNetwork): string[] =>
  subnets.flatMap(({ gateway, excluded = [] }) => [
    ...(gateway === undefined ? [] : [gateway]),
    ...excluded,
  ]);

/**
 * In managed networks the addresses of NetworkPorts, in others those that the pod says. What it
 * says in managed ones beside them isolates it all the same: a pod that does without our gate gets
 * an address from its CNI, and no policy may be evaded by that.
 */
export const withManaged = (
  pod: PolicyPod,
  networks: readonly ManagedNetwork[],
  ports: readonly NetworkPort[],
): PolicyPod => {
  const managed = new Set(networks.flatMap(namesOf));
  if (managed.size === 0) return pod;
  const { secondAddresses = [], ...rest } = pod;
  const claimed = networks.filter(isAdopted).flatMap((network): SecondAddresses[] => {
    const addresses = ports
      .filter((port) => port.spec.network === network.metadata.name && !isReleased(port))
      .flatMap(({ spec }) => spec.addresses);
    return addresses.length === 0
      ? []
      : namesOf(network).map((name) => ({ network: name, addresses }));
  });
  const others = secondAddresses.filter(({ network }) => !managed.has(network));
  const said = secondAddresses.filter(({ network }) => managed.has(network));
  const foreign = pod.isUnscheduled === true ? [] : foreignAmong(said, claimed, networks);
  const seen = [...others, ...claimed, ...foreign];
  return { ...rest, ...(seen.length > 0 && { secondAddresses: seen }) };
};

/** Most pods say nothing, and this is asked of each pod at each of its changes. */
const foreignAmong = (
  said: readonly SecondAddresses[],
  claimed: readonly SecondAddresses[],
  networks: readonly ManagedNetwork[],
): SecondAddresses[] => {
  if (said.length === 0) return [];
  const claims = claimed.flatMap(({ addresses }) => addresses);
  const given = new Set([...claims, ...networks.flatMap(reservedOf)].map(spelling));
  return said.flatMap(({ network, addresses: all }): SecondAddresses[] => {
    const addresses = all.filter((text) => !given.has(spelling(text)));
    return addresses.length === 0 ? [] : [{ network, addresses, isForeign: true }];
  });
};
