/**
 * Addresses that pods have in managed networks, by their NetworkPorts: the coordinator alone writes
 * these, while a user with the right to change a pod writes any address into its annotations.
 */
import type { KubeClient } from '#shared/kube/client.ts';
import { Reflector } from '#shared/kube/informer/reflector.ts';
import type { PolicyPod } from '#shared/policy/group-members.ts';
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
import { isReleased } from '../network-ports/decide.ts';
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
      const names = namesOf(object).join();
      if (type !== 'updated' || names !== namesOf(old).join()) onNetworks();
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
    isKnown: () =>
      [networks, ports].every(({ state }) => state.listed || state.phase === 'NotServed'),
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

/** In managed networks the addresses of NetworkPorts, in others those that the pod says. */
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
  const seen = [...secondAddresses.filter(({ network }) => !managed.has(network)), ...claimed];
  return { ...rest, ...(seen.length > 0 && { secondAddresses: seen }) };
};
