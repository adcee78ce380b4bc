import { describe, expect, it } from 'vitest';
import { addressOf, numberOf } from '../../runtime/addresses.ts';
import type { UciSection } from '../../uci/model.ts';
import { firewallOf } from '../firewall.ts';
import type { NetworkState, Surroundings } from '../types.ts';
import { briefly, exampleOf, type Sought } from './search.ts';

const section = (type: string, name: string, options: UciSection['options']): UciSection => ({
  type,
  name,
  anonymous: false,
  options: { name, ...options },
});
const prefix = (address: string, bits: number) => ({
  family: 4 as const,
  address: numberOf(address),
  bits,
});
const network = (device: string, address: string): NetworkState => ({
  device,
  addresses: [prefix(address, 24)],
});
const surroundings: Surroundings = {
  networks: new Map([
    ['loopback', { device: 'lo', addresses: [prefix('127.0.0.1', 8)] }],
    ['net1', network('eth1', '10.0.1.1')],
    ['net2', network('eth2', '10.0.2.1')],
  ]),
  routes: [{ to: prefix('0.0.0.0', 0), device: 'eth2', metric: 0 }],
  wans: [],
};
const zones = [
  section('zone', 'lan', { network: 'net1', input: 'REJECT', forward: 'REJECT' }),
  section('zone', 'wan', { network: 'net2', input: 'DROP', forward: 'DROP', masq: '1' }),
];
const rule = (name: string, options: UciSection['options']): UciSection =>
  section('rule', name, { src: 'lan', target: 'ACCEPT', ...options });

const worldOf = (sections: readonly UciSection[]) => ({
  firewall: firewallOf([...zones, ...sections], surroundings.networks),
  surroundings,
  isWhole: true,
});
/** For the last of them. */
const sought = (...sections: readonly UciSection[]): Sought => {
  const last = sections.at(-1);
  if (!last) throw new Error('no section');
  return exampleOf(last, worldOf(sections));
};
const words = ({ example, isSearched }: Sought): string => {
  if (!example) return isSearched ? 'none' : 'not known';
  const { in: device = 'the CNF', source, destination, protocol, destinationPort } = example.packet;
  const port = destinationPort === undefined ? '' : ` port ${destinationPort}`;
  return `${device}: ${addressOf(source, 4)} to ${addressOf(destination, 4)}, ${protocol}${port}${example.isCertain ? '' : ', perhaps'}`;
};

describe('a packet that comes to a rule', () => {
  it('comes from where its zone is, and goes to where the routes lead', () => {
    expect(words(sought(rule('web', { dest: 'wan', proto: 'tcp', dest_port: '80' })))).toBe(
      'eth1: 10.0.1.2 to 10.0.2.2, 6 port 80',
    );
  });

  it('is for the CNF where the rule has no destination zone', () => {
    expect(words(sought(rule('ssh', { proto: 'tcp', dest_port: '22' })))).toBe(
      'eth1: 10.0.1.2 to 10.0.1.1, 6 port 22',
    );
  });

  it('is one that the CNF sends where the rule has no source zone', () => {
    const own = section('rule', 'dns', {
      dest: 'wan',
      proto: 'udp',
      dest_port: '53',
      target: 'DROP',
    });
    expect(words(sought(own))).toBe('the CNF: 10.0.1.1 to 10.0.2.2, 17 port 53');
  });

  it('is one that those before it leave', () => {
    const before = [
      rule('a', { dest: 'wan', proto: 'tcp', dest_port: '1-79', target: 'DROP' }),
      rule('b', { dest: 'wan', src_ip: '10.0.1.0/25', proto: 'all', target: 'DROP' }),
    ];
    expect(
      words(sought(...before, rule('c', { dest: 'wan', proto: 'tcp', dest_port: '70-81' }))),
    ).toBe('eth1: 10.0.1.254 to 10.0.2.2, 6 port 80');
  });

  it('is none where those before it leave none', () => {
    const before = [
      rule('a', { dest: 'wan', src_ip: '10.0.1.0/24', proto: 'all', target: 'DROP' }),
      rule('b', { dest: 'wan', src_ip: '!10.0.1.0/24', proto: 'tcp', target: 'DROP' }),
    ];
    expect(words(sought(...before, rule('c', { dest: 'wan', proto: 'tcp' })))).toBe('none');
  });

  it('is none where no route leads by the zone', () => {
    const forwarded = { src: 'wan', dest: 'lan', dest_ip: '192.0.2.7', proto: 'tcp' };
    expect(words(sought(rule('a', forwarded)))).toBe('none');
  });

  it('is one before its translation, where only what is translated goes that way', () => {
    const redirect = section('redirect', 'web', {
      src: 'wan',
      dest: 'lan',
      proto: 'tcp',
      src_dip: '10.0.2.1',
      src_dport: '8080',
      dest_ip: '10.0.1.7',
      dest_port: '80',
      target: 'DNAT',
    });
    const all = rule('all', { src: 'wan', dest: 'lan', dest_ip: '!10.0.1.7', proto: 'tcp' });
    const web = rule('web-in', {
      src: 'wan',
      dest: 'lan',
      dest_ip: '10.0.1.7',
      dest_port: '80',
      proto: 'tcp',
    });
    const direct = rule('direct', { src: 'wan', dest: '*', proto: 'tcp', dest_port: '1-79' });
    expect(words(sought(redirect, all, direct, web))).toMatch(/ port (80|8080)$/);
    const unreachable = rule('b', {
      src: 'wan',
      dest: 'lan',
      dest_ip: '10.0.1.7',
      dest_port: '8080',
      proto: 'tcp',
    });
    expect(words(sought(redirect, unreachable))).toBe('eth2: 10.0.2.2 to 10.0.1.7, 6 port 8080');
  });

  it('of a translation is one that the filter accepts', () => {
    const nat = section('nat', 'own', {
      src: 'wan',
      proto: 'udp',
      snat_ip: '10.0.2.1',
      target: 'SNAT',
    });
    const accept = rule('dns', { dest: 'wan', proto: 'udp', dest_port: '53' });
    expect(words(sought(accept, nat))).toMatch(/, 17 port 53$/);
    const policies = { input: 'DROP', output: 'DROP', forward: 'DROP' };
    const closed = [
      section('defaults', 'defaults', policies),
      section('zone', 'lan', { network: 'net1', ...policies }),
      section('zone', 'wan', { network: 'net2', ...policies }),
    ];
    const firewall = firewallOf([...closed, nat], surroundings.networks);
    expect(words(exampleOf(nat, { firewall, surroundings, isWhole: true }))).toBe('none');
  });

  it('has the mark that another rule sets', () => {
    const marked = rule('b', { dest: 'wan', proto: 'tcp', mark: '0x10' });
    expect(words(sought(marked))).toBe('none');
    const marking = rule('a', {
      dest: '*',
      src_ip: '10.0.1.9',
      proto: 'tcp',
      set_mark: '0x10',
      target: 'MARK',
    });
    expect(words(sought(marking, marked))).toBe('eth1: 10.0.1.9 to 10.0.2.2, 6 port 80');
    expect(words(sought(marked, marking))).toBe('eth1: 10.0.1.9 to 10.0.1.2, 6 port 80');
  });

  it('is under a mask with gaps', () => {
    const one = rule('a', { dest: 'wan', dest_ip: '0.0.0.9/0.0.0.255', proto: 'tcp' });
    expect(words(sought(one))).toBe('eth1: 10.0.1.2 to 10.0.2.9, 6 port 80');
  });

  it('is said with what is assumed of it', () => {
    const limited = rule('a', { dest: 'wan', proto: 'tcp', limit: '10/minute' });
    expect(words(sought(limited))).toBe('eth1: 10.0.1.2 to 10.0.2.2, 6 port 80, perhaps');
  });

  it('is of the other version of IP where there is none of the first', () => {
    expect(words(sought(rule('a', { dest: 'wan', family: 'ipv6', proto: 'tcp' })))).toBe('none');
  });
});

describe('a packet in brief', () => {
  it('has only what makes a difference', () => {
    const some = [
      rule('a', { dest: 'wan', proto: 'tcp', src_port: '40000', target: 'DROP' }),
      rule('b', { dest: 'wan', proto: 'tcp' }),
    ];
    const [, b] = some;
    const world = worldOf(some);
    const packet = sought(...some).example?.packet;
    if (!b || !packet) throw new Error('none');
    const { sourcePort, mac, mark } = briefly(b, world, packet);
    expect({ sourcePort, mac, mark }).toEqual({
      sourcePort: 40_001,
      mac: undefined,
      mark: undefined,
    });
  });
});
