/** The NetworkPorts of one network, kept as they change, so that no look goes over all of them. */
import { Index } from '#shared/kube/informer/key-index.ts';
import { POOL_LABEL } from '#shared/names.ts';
import {
  isUnclaimed,
  type NetworkPort,
  type NetworkPortSpec,
} from '#shared/resources/other-kinds/network-port.ts';

export const isReleased = ({ status }: NetworkPort): boolean => status?.releasedAt !== undefined;

export const poolOf = ({ metadata }: NetworkPort): string | undefined =>
  metadata.labels?.[POOL_LABEL];

export class Claims {
  /** By index, as text; those in Neutron by MAC. */
  readonly #at = new Map<string, NetworkPort>();
  readonly #found = new Index();

  constructor(ports: readonly NetworkPort[] = []) {
    for (const port of ports) this.set(port.spec, port);
  }

  set({ index, mac }: NetworkPortSpec, port: NetworkPort | undefined): void {
    const id = String(index ?? mac);
    if (port) this.#at.set(id, port);
    else this.#at.delete(id);
    this.#found.set(id, port ? keysOf(port) : []);
  }

  /** Those that rest as well. */
  all(): NetworkPort[] {
    return [...this.#at.values()];
  }

  at(index: number): NetworkPort | undefined {
    return this.#at.get(String(index));
  }

  /** In Neutron, of a pool. */
  available(): NetworkPort[] {
    return this.#by(AVAILABLE);
  }

  ofPod(uid: string): NetworkPort[] {
    return this.#by(podKey(uid));
  }

  /** By the name of the pool, those that pods have as well. */
  ofPool(name: string): NetworkPort[] {
    return this.#by(poolKey(name));
  }

  ofKeeper(uid: string): NetworkPort[] {
    return this.#by(keeperKey(uid));
  }

  /** That in Neutron with the MAC or one of the addresses. */
  inNeutron(mac: string, addresses: readonly string[]): NetworkPort | undefined {
    return this.#at.get(mac) ?? addresses.flatMap((text) => this.#by(addressKey(text)))[0];
  }

  /** How many addresses of its share a namespace has: no other gets those that rest either. */
  countOf(namespace: string): number {
    return this.#found.ids(shareKey(namespace)).size;
  }

  #by(key: string): NetworkPort[] {
    return [...this.#found.ids(key)].flatMap((id) => this.#at.get(id) ?? []);
  }
}

const AVAILABLE = 'available';
const podKey = (uid: string): string => `pod ${uid}`;
const keeperKey = (uid: string): string => `keeper ${uid}`;
const poolKey = (name: string): string => `pool ${name}`;
const addressKey = (text: string): string => `address ${text}`;
const shareKey = (namespace: string): string => `share ${namespace}`;

const keysOf = (port: NetworkPort): string[] => {
  const { addresses, claim, index } = port.spec;
  const { keeper, namespace, uid } = claim;
  const pool = poolOf(port);
  const isAvailable = isUnclaimed(port) && !isReleased(port) && port.status?.portID !== undefined;
  return [
    ...(isAvailable ? [AVAILABLE] : []),
    podKey(uid),
    ...(pool === undefined ? [] : [poolKey(pool)]),
    ...(keeper ? [keeperKey(keeper.uid)] : []),
    ...(index === undefined ? addresses.map(addressKey) : []),
    shareKey(namespace),
  ];
};
