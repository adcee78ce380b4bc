/**
 * Random firewalls, and packets near every boundary in them. One CNF with four interfaces, whose
 * neighbours can be sent from and received at (kernel/kernel.ts builds it).
 */
import type { Packet } from '#shared/trace/packet.ts';
import type { NetworkState, Surroundings } from '#shared/trace/types.ts';
import { network as networkReader } from '#shared/trace/values.ts';
import type { UciSection, UciValue } from '#shared/uci/model.ts';
import { addressOf, familyOf, numberOf } from '#shared/util/addresses.ts';
import { Random } from './random.ts';

export const DEVICES = ['d0', 'd1', 'd2', 'd3'] as const;

/** As the tests write it down; `number` is its name in the kernel's trace. */
export type SentPacket = {
  in?: string;
  source: string;
  destination: string;
  protocol: number;
  sourcePort?: number;
  destinationPort?: number;
  icmp?: { type: number; code: number };
  mac?: string;
  dscp: number;
};

export type Scene = { sections: readonly UciSection[]; packets: readonly SentPacket[] };

const prefix = (text: string) => {
  const [address = '', bits] = text.split('/');
  const family = familyOf(address);
  if (!family) throw new Error(text);
  return { family, address: numberOf(address), bits: Number(bits) };
};

export const ADDRESSES = DEVICES.map((_, at) => [`10.0.${at}.1/24`, `fd00:${at}::1/64`]);
export const ROUTES = [
  { to: '203.0.113.0/24', device: 'd2' },
  { to: '2001:db8::/32', device: 'd2' },
  { to: '0.0.0.0/0', device: 'd3' },
  { to: '::/0', device: 'd3' },
] as const;

export const surroundings: Surroundings = {
  networks: new Map(
    DEVICES.map((device, at): [string, NetworkState] => [
      `n${at}`,
      { device, addresses: (ADDRESSES[at] ?? []).map(prefix) },
    ]),
  ),
  routes: ROUTES.map(({ to, device }) => ({ to: prefix(to), device, metric: 0 })),
  wans: [],
};

const HOSTS4 = DEVICES.flatMap((_, at) =>
  [2, 3, 4, 15, 16, 17].map((host) => `10.0.${at}.${host}`),
);
const HOSTS6 = DEVICES.flatMap((_, at) =>
  [2, 3, 0x10, 0x11].map((host) => `fd00:${at}::${host.toString(16)}`),
);
const FAR4 = ['203.0.113.5', '203.0.113.6', '198.51.100.7', '198.51.100.8'];
const FAR6 = ['2001:db8::5', '2001:db8::6', '2a00::7', '2a00::8'];
const OWN4 = ADDRESSES.map(([four = '']) => four.split('/')[0] ?? '');
const OWN6 = ADDRESSES.map(([, six = '']) => six.split('/')[0] ?? '');
const NETS4 = [
  '10.0.0.0/24',
  '10.0.1.0/28',
  '10.0.2.2/31',
  '10.0.0.0/16',
  '203.0.113.4/30',
  '198.51.100.0/255.255.255.248',
  '10.0.3.2-10.0.3.15',
  '0.0.0.3/0.0.0.255',
];
const NETS6 = [
  'fd00:0::/64',
  'fd00:1::/112',
  '2001:db8::/32',
  '::2/-64',
  'fd00:2::2-fd00:2::10',
  'fd00::/16',
];
const PORTS = ['80', '79-81', '443', '1024-2000', '8080', '!80', '!79-443', '53'];
const MACS = ['02:00:00:00:00:aa', '02:00:00:00:00:bb', '02:00:00:00:00:cc'];
const POLICIES = ['ACCEPT', 'REJECT', 'DROP'];

const address = (random: Random, canNegate = true): string => {
  const four = random.chance(0.6);
  const text = random.chance(0.5)
    ? random.of(four ? [...HOSTS4, ...FAR4, ...OWN4] : [...HOSTS6, ...FAR6, ...OWN6])
    : random.of(four ? NETS4 : NETS6);
  return canNegate && random.chance(0.15) ? `!${text}` : text;
};

const sameFamily = (random: Random, count: number): string[] => {
  const [first = '', ...rest] = Array.from({ length: count * 3 }, () => address(random));
  const isSix = first.includes(':');
  return [first, ...rest.filter((one) => one.includes(':') === isSix).slice(0, count - 1)];
};

class Maker {
  readonly random: Random;
  readonly sections: UciSection[] = [];
  readonly zones: string[] = [];

  constructor(random: Random) {
    this.random = random;
  }

  add(type: string, options: Record<string, UciValue | undefined>, name?: string): void {
    const given = Object.fromEntries(
      Object.entries(options).flatMap(([key, value]) =>
        value === undefined ? [] : [[key, value]],
      ),
    );
    const own = name ?? `s${this.sections.length}`;
    const named = type === 'zone' || type === 'defaults' ? given : { name: own, ...given };
    this.sections.push({ type, name: own, anonymous: false, options: named });
  }

  /** Undefined as often as `share` does not say. */
  maybe<T>(share: number, make: () => T): T | undefined {
    return this.random.chance(share) ? make() : undefined;
  }

  zone(): string {
    return this.random.of(this.zones);
  }

  defaults(): void {
    const { random } = this;
    this.add('defaults', {
      input: random.of(POLICIES),
      output: random.of(['ACCEPT', 'ACCEPT', 'DROP']),
      forward: random.of(POLICIES),
      drop_invalid: this.maybe(0.15, () => '1'),
      syn_flood: this.maybe(0.02, () => '1'),
    });
  }

  zonesOf(): void {
    const { random } = this;
    const count = random.between(2, 4);
    const left = ['n0', 'n1', 'n2', 'n3'];
    for (let at = 0; at < count; at++) {
      const networks = left.splice(0, at === count - 1 ? left.length : random.between(1, 2));
      if (random.chance(0.1)) networks.push(random.of(['n0', 'n1', 'n2', 'n3']));
      const isByDevice = random.chance(0.12);
      const name = `z${at}`;
      this.zones.push(name);
      this.add(
        'zone',
        {
          name,
          network: isByDevice || networks.length === 0 ? undefined : networks,
          device: isByDevice ? [random.of(['d+', '!d1', 'd2', 'd3', '!d+'])] : undefined,
          subnet: this.maybe(0.12, () => sameFamily(random, random.between(1, 2))),
          input: this.maybe(0.85, () => random.of(POLICIES)),
          output: this.maybe(0.85, () => random.of(['ACCEPT', 'ACCEPT', 'REJECT', 'DROP'])),
          forward: this.maybe(0.85, () => random.of(POLICIES)),
          masq: this.maybe(0.35, () => '1'),
          masq6: this.maybe(0.2, () => '1'),
          masq_allow_invalid: this.maybe(0.15, () => '1'),
          masq_src: this.maybe(0.15, () => [address(random)]),
          masq_dest: this.maybe(0.15, () => [address(random)]),
          family: this.maybe(0.06, () => random.of(['ipv4', 'ipv6', 'any'])),
          log: this.maybe(0.1, () => '1'),
          enabled: this.maybe(0.02, () => '0'),
        },
        `zone${at}`,
      );
    }
  }

  protocol(): { proto?: string; icmp_type?: string[] } {
    const { random } = this;
    const proto = random.of([
      'tcp',
      'udp',
      'tcp udp',
      'tcpudp',
      'all',
      'icmp',
      'ipv6-icmp',
      'esp',
      '89',
      'any',
    ]);
    const isIcmp = proto.includes('icmp');
    const types = isIcmp
      ? this.maybe(0.6, () =>
          random.some(
            [
              'echo-request',
              '8',
              '13',
              'timestamp-request',
              'echo-reply',
              '3/1',
              'destination-unreachable',
              '128',
              '139',
            ],
            1,
            2,
          ),
        )
      : undefined;
    return random.chance(0.25) ? {} : { proto, ...(types && { icmp_type: [...new Set(types)] }) };
  }

  rule(): void {
    const { random } = this;
    const target = random.of([
      ...Array.from({ length: 14 }, () => POLICIES).flat(),
      ...Array.from({ length: 9 }, () => 'MARK'),
      'NOTRACK',
      'NOTRACK',
      'DSCP',
      '',
    ]);
    const zoneOrAny = (): string => (random.chance(0.2) ? '*' : this.zone());
    const src = this.maybe(0.88, zoneOrAny);
    const { proto, icmp_type } = this.protocol();
    const hasPorts = proto === undefined || /tcp|udp/.test(proto);
    this.add('rule', {
      src: target === 'NOTRACK' ? this.zone() : src,
      dest: this.maybe(0.6, zoneOrAny),
      proto,
      icmp_type,
      src_ip: this.maybe(0.35, () => sameFamily(random, random.between(1, 3))),
      dest_ip: this.maybe(0.35, () => sameFamily(random, random.between(1, 3))),
      src_port: hasPorts ? this.maybe(0.15, () => random.of(PORTS)) : undefined,
      dest_port: hasPorts ? this.maybe(0.45, () => random.of(PORTS)) : undefined,
      src_mac: this.maybe(0.06, () => random.of(MACS)),
      mark: this.maybe(0.08, () => random.of(['0x10', '0x10/0x10', '!0x10', '0', '0x20/0x30'])),
      dscp: this.maybe(0.04, () => random.of(['EF', '!EF', '10'])),
      device: this.maybe(0.04, () => random.of(DEVICES)),
      direction: this.maybe(0.04, () => random.of(['in', 'out'])),
      family: this.maybe(0.15, () => random.of(['ipv4', 'ipv6', 'any'])),
      limit: this.maybe(0.008, () => '10/minute'),
      weekdays: this.maybe(0.004, () => 'Mon Tue'),
      enabled: this.maybe(0.02, () => '0'),
      set_mark: target === 'MARK' ? random.of(['0x10', '0x20', '0x11/0xff']) : undefined,
      set_dscp: target === 'DSCP' ? random.of(['EF', 'CS1']) : undefined,
      target: target === '' ? undefined : target,
    });
  }

  forwarding(): void {
    const { random } = this;
    this.add('forwarding', {
      src: random.chance(0.1) ? '*' : this.zone(),
      dest: random.chance(0.1) ? '*' : this.zone(),
      family: this.maybe(0.1, () => random.of(['ipv4', 'ipv6'])),
    });
  }

  /**
   * Redirects with a new port only where packets must have one: firewall4 and nft disagree
   * otherwise.
   */
  dnat(): void {
    const { random } = this;
    const proto = random.of([undefined, 'tcp', 'udp', 'tcpudp', 'all', 'icmp']);
    const hasPorts = proto === undefined || /tcp|udp/.test(proto);
    const isSix = random.chance(0.3);
    const src_dport = hasPorts
      ? this.maybe(0.6, () => random.of(PORTS.filter((one) => !one.startsWith('!'))))
      : undefined;
    this.add('redirect', {
      target: this.maybe(0.8, () => 'DNAT'),
      src: this.zone(),
      dest: this.maybe(0.5, () => this.zone()),
      proto,
      src_ip: this.maybe(0.2, () =>
        random.of(isSix ? [...HOSTS6, ...NETS6] : [...HOSTS4, ...NETS4]),
      ),
      src_dip: this.maybe(0.5, () => random.of(isSix ? [...OWN6, ...FAR6] : [...OWN4, ...FAR4])),
      src_dport,
      dest_ip: this.maybe(0.85, () =>
        random.of(isSix ? [...HOSTS6, ...FAR6] : [...HOSTS4, ...FAR4, ...OWN4]),
      ),
      dest_port:
        src_dport === undefined
          ? undefined
          : this.maybe(0.5, () => random.of(['8080', '80', '443', '8000-8003'])),
      reflection: this.maybe(0.3, () => '0'),
      reflection_src: this.maybe(0.2, () => random.of(['internal', 'external'])),
      mark: this.maybe(0.04, () => '0x10'),
      family: this.maybe(0.1, () => random.of(['ipv4', 'ipv6', 'any'])),
    });
  }

  snat(): void {
    const { random } = this;
    const proto = random.of([undefined, 'tcp', 'udp', 'all', 'icmp']);
    const hasPorts = proto === undefined || /tcp|udp/.test(proto);
    const isSix = random.chance(0.3);
    const dest_port = hasPorts ? this.maybe(0.4, () => random.of(PORTS)) : undefined;
    this.add('redirect', {
      target: 'SNAT',
      dest: this.zone(),
      proto,
      src_ip: this.maybe(0.4, () =>
        random.of(isSix ? [...HOSTS6, ...NETS6] : [...HOSTS4, ...NETS4]),
      ),
      dest_ip: this.maybe(0.3, () =>
        random.of(isSix ? [...HOSTS6, ...FAR6] : [...HOSTS4, ...FAR4]),
      ),
      dest_port,
      src_dip: random.of(isSix ? ['fd00:9::9'] : ['192.0.2.9', '10.0.1.1']),
      src_dport: dest_port === undefined ? undefined : this.maybe(0.3, () => '4000'),
    });
  }

  nat(): void {
    const { random } = this;
    const target = random.of(['SNAT', 'MASQUERADE', 'ACCEPT', undefined]);
    const isSix = random.chance(0.25);
    this.add('nat', {
      src: this.maybe(0.6, () => this.zone()),
      device: this.maybe(0.15, () => random.of(DEVICES)),
      proto: this.maybe(0.4, () => random.of(['tcp', 'udp', 'icmp'])),
      src_ip: this.maybe(0.3, () =>
        random.of(isSix ? [...HOSTS6, ...NETS6] : [...HOSTS4, ...NETS4]),
      ),
      dest_ip: this.maybe(0.3, () =>
        random.of(isSix ? [...HOSTS6, ...FAR6] : [...HOSTS4, ...FAR4]),
      ),
      snat_ip: target === 'SNAT' ? random.of(isSix ? ['fd00:9::8'] : ['192.0.2.8']) : undefined,
      family: this.maybe(0.3, () => random.of(['ipv4', 'ipv6', 'any'])),
      target,
    });
  }
}

const port = (random: Random): number =>
  random.of([79, 80, 81, 82, 443, 444, 53, 1023, 1024, 2000, 2001, 8080, 8003]);

/**
 * As the kernel routes them: not those that all hosts have, or none, nor those of groups or of the
 * host itself.
 */
const isOfHost = (text: string): boolean =>
  !/^(0\.|127\.|2[2-5]\d\.|::|ff)/.test(text) && !/^10\.0\.[0-3]\.(0|255)$/.test(text);

/** Both sides of both ends of what an option of the scene says. */
const boundaries = (sections: readonly UciSection[], options: readonly string[]): string[] =>
  sections.flatMap((section) =>
    options
      .flatMap((option) => section.options[option] ?? [])
      .flatMap((text) => network(text)?.addresses ?? [])
      .filter(({ mask }) => mask === undefined)
      .flatMap(({ family, range: { low, high } }) =>
        [low - 1n, low, high, high + 1n]
          .filter((one) => one > 0n && one < 1n << BigInt(family === 4 ? 32 : 128))
          .map((one) => addressOf(one, family)),
      )
      .filter(isOfHost),
  );

const network = networkReader(surroundings.networks);

/** Whether it comes in is drawn first: what the CNF sends has its addresses. */
const sent = (random: Random, sections: readonly UciSection[]): SentPacket => {
  const isSix = random.chance(0.35);
  const isOfFamily = (text: string): boolean => text.includes(':') === isSix;
  const isOwn = random.chance(0.12);
  const own = isSix ? OWN6 : OWN4;
  const near = isSix ? [...HOSTS6, ...FAR6] : [...HOSTS4, ...FAR4];
  const some = [random.of(sections)];
  const aimed = (options: readonly string[], other: readonly string[]): string => {
    const points = boundaries(some, options).filter(isOfFamily);
    return random.of(points.length > 0 && random.chance(0.8) ? points : other);
  };
  const source = aimed(['src_ip', 'masq_src', 'subnet'], near);
  const destination = aimed(
    ['dest_ip', 'src_dip', 'masq_dest'],
    random.chance(isOwn ? 0 : 0.3) ? own : near,
  );
  return {
    ...(!isOwn && { in: random.of(DEVICES), mac: random.of(MACS) }),
    source: isOwn || own.includes(source) ? random.of(isOwn ? own : near) : source,
    destination: isOwn && own.includes(destination) ? random.of(near) : destination,
    ...transport(random, isSix),
    dscp: random.of([0, 0, 0x2e, 10]),
  };
};

const transport = (random: Random, isSix: boolean) => {
  const protocol = random.of([6, 6, 6, 17, 17, isSix ? 58 : 1, random.of([50, 89])]);
  const type = isSix ? random.of([128, 128, 129, 1, 139]) : random.of([8, 8, 13, 0, 3]);
  return {
    protocol,
    ...([6, 17].includes(protocol) && {
      sourcePort: random.chance(0.7) ? random.between(10_000, 60_000) : port(random),
      destinationPort: port(random),
    }),
    ...([1, 58].includes(protocol) && { icmp: { type, code: random.of([0, 0, 1]) } }),
  };
};

/**
 * Connections of which one packet has been sent are no first ones any more; answers to them
 * neither.
 */
const firsts = (packets: readonly SentPacket[]): SentPacket[] => {
  const seen = new Set<string>();
  return packets.filter((one) => {
    const id = one.icmp ? one.icmp.type : '';
    const key = [one.protocol, ...[one.source, one.destination].sort(), id].join();
    const isNew = !seen.has(key) && one.source !== one.destination;
    seen.add(key);
    return isNew;
  });
};

export const sceneOf = (seed: number, count: number): Scene => {
  const random = new Random(seed);
  const maker = new Maker(random);
  maker.defaults();
  maker.zonesOf();
  for (let at = random.between(3, 12); at > 0; at--) maker.rule();
  for (let at = random.between(0, 4); at > 0; at--) maker.forwarding();
  for (let at = random.between(0, 3); at > 0; at--) maker.dnat();
  for (let at = random.between(0, 2); at > 0; at--) maker.snat();
  for (let at = random.between(0, 2); at > 0; at--) maker.nat();
  const packets = firsts(Array.from({ length: count }, () => sent(random, maker.sections)));
  return { sections: maker.sections, packets };
};

export const packetOf = (one: SentPacket): Packet => ({
  in: one.in,
  family: familyOf(one.source) ?? 4,
  source: numberOf(one.source),
  destination: numberOf(one.destination),
  protocol: one.protocol,
  sourcePort: one.sourcePort,
  destinationPort: one.destinationPort,
  icmp: one.icmp,
  mac: one.mac,
  mark: 0,
  dscp: one.dscp,
});
