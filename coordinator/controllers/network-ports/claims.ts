/** The NetworkPorts of one network, kept as they change, so that no look goes over all of them. */
import { Index } from '#shared/kube/informer/key-index.ts';
import type { NetworkPort } from '#shared/resources/other-kinds/network-port.ts';

export const isReleased = ({ status }: NetworkPort): boolean => status?.releasedAt !== undefined;

export class Claims {
  readonly #at = new Map<number, NetworkPort>();
  /** Indexes, as text, by what follows. */
  readonly #found = new Index();

  constructor(ports: readonly NetworkPort[] = []) {
    for (const port of ports) this.set(port.spec.index, port);
  }

  set(index: number, port: NetworkPort | undefined): void {
    if (port) this.#at.set(index, port);
    else this.#at.delete(index);
    this.#found.set(String(index), port ? keysOf(port) : []);
  }

  /** Those that rest as well. */
  all(): NetworkPort[] {
    return [...this.#at.values()];
  }

  at(index: number): NetworkPort | undefined {
    return this.#at.get(index);
  }

  ofPod(uid: string): NetworkPort[] {
    return this.#by(podKey(uid));
  }

  ofKeeper(uid: string): NetworkPort[] {
    return this.#by(keeperKey(uid));
  }

  /** How many addresses of its share a namespace has. */
  countOf(namespace: string): number {
    return this.#found.ids(shareKey(namespace)).size;
  }

  #by(key: string): NetworkPort[] {
    return [...this.#found.ids(key)].flatMap((index) => this.#at.get(Number(index)) ?? []);
  }
}

const podKey = (uid: string): string => `pod ${uid}`;
const keeperKey = (uid: string): string => `keeper ${uid}`;
const shareKey = (namespace: string): string => `share ${namespace}`;

const keysOf = (port: NetworkPort): string[] => {
  const { keeper, namespace, uid } = port.spec.claim;
  return [
    podKey(uid),
    ...(keeper ? [keeperKey(keeper.uid)] : []),
    ...(isReleased(port) ? [] : [shareKey(namespace)]),
  ];
};
