/** Which addresses packets of a CNF come from, and where they go, as intervals. */
import { common, cut, type Interval } from '../boxes.ts';
import { prefixRange } from '../prefixes.ts';
import { byPrecedence } from '../routes.ts';
import type { Family, NetworkState, Prefix, Range, Route, Surroundings } from '../types.ts';

/** Of hosts: neither loopback, nor groups, nor what is reserved. */
const HOSTS: Readonly<Record<Family, readonly Interval[]>> = {
  4: [
    [0x0100_0000n, 0x7eff_ffffn],
    [0x8000_0000n, 0xdfff_ffffn],
  ],
  6: [
    [0x2n << 124n, (0x4n << 124n) - 1n],
    [0xfcn << 120n, (0xfen << 120n) - 1n],
  ],
};

const LOOPBACK = 'lo';
const LINK_LOCAL: Interval = [0xfe80n << 112n, (0xfec0n << 112n) - 1n];

const intervalOf = ({ low, high }: Range): Interval => [low, high];

export class Terrain {
  readonly family: Family;
  readonly devices: readonly string[];
  readonly #networks: readonly NetworkState[];
  readonly #routes: readonly Route[] | undefined;
  readonly #hosts: readonly Interval[];
  readonly #ways: ReadonlyMap<string, readonly Interval[]>;

  constructor(family: Family, surroundings: Surroundings) {
    this.family = family;
    const { networks, routes, wans } = surroundings;
    // Nothing comes in or goes out by it.
    this.#networks = [...networks.values()].filter(({ device }) => device !== LOOPBACK);
    this.#routes = wans.length > 0 ? undefined : routes;
    this.devices = [...new Set(this.#networks.flatMap(({ device }) => device ?? []))];
    const own = this.#prefixes();
    const ends = own.map(prefixRange).flatMap(({ low, high }): Interval[] => [
      [low, low],
      [high, high],
    ]);
    this.#hosts = [...ends, ...this.own()].reduce<readonly Interval[]>(
      (left, one) => cut(left, [one]),
      HOSTS[family],
    );
    this.#ways = this.#routed();
  }

  /** Of what comes in; `way` undefined: it is not routed yet. Behind hosts stands what only forgers send. */
  sources(way: 'forward' | 'input' | undefined): readonly Interval[] {
    // Where it routes, the kernel drops forged addresses of its own in IPv4 alone; addresses of a link it forwards to none.
    if (this.family === 4) return way === undefined ? [...this.#hosts, ...this.own()] : this.#hosts;
    return [...this.#hosts, ...this.own(), ...(way === 'forward' ? [] : [LINK_LOCAL])];
  }

  own(): readonly Interval[] {
    return this.#prefixes().map(({ address }): Interval => [address, address]);
  }

  /** Of everybody else. */
  hosts(): readonly Interval[] {
    return this.#hosts;
  }

  /** What leaves by a device: all, where nobody told the routes. */
  behind(device: string): readonly Interval[] {
    return this.#ways.get(device) ?? [];
  }

  /** In the networks of a device; of all, where none is meant. */
  linked(device: string | undefined): readonly Interval[] {
    return this.#prefixes(device).map((one) => intervalOf(prefixRange(one)));
  }

  addressOf(device: string): Range | undefined {
    const [one] = this.#prefixes(device);
    return one && { low: one.address, high: one.address };
  }

  #prefixes(device?: string): readonly Prefix[] {
    return this.#networks
      .filter((network) => device === undefined || network.device === device)
      .flatMap(({ addresses }) => addresses)
      .filter(({ family }) => family === this.family);
  }

  #routed(): ReadonlyMap<string, readonly Interval[]> {
    const routes = this.#routes;
    if (!routes) return new Map(this.devices.map((device) => [device, this.#hosts]));
    const links = this.devices.flatMap((device) =>
      this.#prefixes(device).map((to) => ({ to, device, metric: 0 })),
    );
    const ways = new Map<string, Interval[]>();
    let left = this.#hosts;
    const leading = [...links, ...routes]
      .filter(({ to }) => to.family === this.family)
      .sort(byPrecedence);
    for (const { to, device } of leading) {
      const range = [intervalOf(prefixRange(to))];
      ways.set(device, [...(ways.get(device) ?? []), ...common(left, range)]);
      left = cut(left, range);
    }
    return ways;
  }
}
