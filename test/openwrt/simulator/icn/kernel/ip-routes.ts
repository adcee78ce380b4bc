/** `ip route`: the routes of the kernel's tables, beside those of the addresses themselves. */
import {
  contains,
  formatAddress,
  networkOf,
  parseAddress,
  parsePrefix,
  type Prefix,
} from './addresses.ts';

export type IpRoute = {
  destination: string;
  via?: string;
  device: string;
  src?: string;
  /** The kernel's own, for an address. */
  proto?: 'kernel';
};
export type Address = { device: string; prefix: Prefix };

export class IpRoutes {
  readonly #tables = new Map<string, IpRoute[]>();
  readonly #addresses: () => readonly Address[];

  constructor(addresses: () => readonly Address[]) {
    this.#addresses = addresses;
  }

  /** By destination. The main table has the routes of the addresses too. */
  list(table: string): readonly IpRoute[] {
    const own = table === 'main' ? this.#addresses().map(routeOf) : [];
    return [...(this.#tables.get(table) ?? []), ...own].sort(byDestination);
  }

  /** As `ip route` prints them. */
  lines(table: string): string[] {
    return this.list(table).map(
      ({ destination, via, device, src, proto }) =>
        `${destination}${words('via', via)} dev ${device}${words('proto', proto)}${via === undefined ? ' scope link' : ''}${words('src', src)}`,
    );
  }

  defaultDevice(): string | undefined {
    return this.list('main').find(({ destination }) => destination === 'default')?.device;
  }

  /** The words after `ip route`. What the kernel refuses changes nothing. */
  run(words: readonly string[]): void {
    const [operation, ...rest] = words;
    const isNamed = rest[0] === 'table';
    const table = (isNamed ? rest[1] : undefined) ?? 'main';
    const wanted = parse(isNamed ? rest.slice(2) : rest);
    if (!wanted) return;
    const routes = this.#tables.get(table) ?? [];
    this.#tables.set(
      table,
      operation === 'add' ? this.#with(routes, wanted) : without(routes, wanted),
    );
  }

  /** One route per destination, to a gateway in reach. */
  #with(routes: readonly IpRoute[], { device, via, ...wanted }: WantedRoute): IpRoute[] {
    const isTaken = routes.some(({ destination }) => destination === wanted.destination);
    if (isTaken || device === undefined || !this.#reaches(via, device)) return [...routes];
    return [...routes, { ...wanted, device, ...(via === undefined ? {} : { via }) }];
  }

  /** The kernel forgets the routes of a link that goes down. */
  linkDown(device: string): void {
    for (const [table, routes] of this.#tables)
      this.#tables.set(
        table,
        routes.filter((route) => route.device !== device),
      );
  }

  #reaches(via: string | undefined, device: string): boolean {
    const gateway = via === undefined ? undefined : parseAddress(via);
    return (
      via === undefined ||
      (gateway !== undefined &&
        this.#addresses().some(
          ({ device: on, prefix }) => on === device && contains(prefix, gateway),
        ))
    );
  }
}

const words = (name: string, value: string | undefined): string =>
  value === undefined ? '' : ` ${name} ${value}`;

const routeOf = ({ device, prefix }: Address): IpRoute => {
  const { address, bits } = networkOf(prefix);
  return {
    destination: `${formatAddress(address)}/${bits}`,
    device,
    src: formatAddress(prefix.address),
    proto: 'kernel',
  };
};

type WantedRoute = Partial<IpRoute> & Pick<IpRoute, 'destination'>;

/** Undefined for what `ip` refuses. */
const parse = ([to = '', ...options]: readonly string[]): WantedRoute | undefined => {
  const destination = destinationOf(to);
  if (destination === undefined) return undefined;
  const pairs = new Map<string, string>();
  for (let index = 0; index < options.length; index += 2)
    pairs.set(options[index] ?? '', options[index + 1] ?? '');
  const [via, device, src] = ['via', 'dev', 'src'].map((name) => pairs.get(name));
  return {
    destination,
    ...(via === undefined ? {} : { via }),
    ...(device === undefined ? {} : { device }),
    ...(src === undefined ? {} : { src }),
  };
};

/** Without the first that has all that is given. */
const without = (routes: readonly IpRoute[], wanted: WantedRoute): IpRoute[] => {
  const found = routes.findIndex(
    (route) =>
      route.destination === wanted.destination &&
      route.via === (wanted.via ?? route.via) &&
      route.device === (wanted.device ?? route.device) &&
      route.src === (wanted.src ?? route.src),
  );
  return routes.toSpliced(found, found < 0 ? 0 : 1);
};

/** Undefined where bits of the host are set. */
const destinationOf = (to: string): string | undefined => {
  if (to === 'default') return to;
  const prefix = parsePrefix(to);
  if (!prefix || networkOf(prefix).address !== prefix.address) return undefined;
  if (prefix.bits === 0) return 'default';
  return prefix.bits === 32 ? to.replace(/\/32$/, '') : to;
};

const byDestination = (a: IpRoute, b: IpRoute): number => place(a) - place(b);
const place = ({ destination }: IpRoute): number =>
  destination === 'default' ? -1 : (parsePrefix(destination)?.address ?? 0);
