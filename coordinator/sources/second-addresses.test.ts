import { describe, expect, it } from 'vitest';
import { secondAddressesIn, subnetsIn } from './second-addresses.ts';

const NFN = 'k8s.plugin.opnfv.org/nfn-network';
const OVN = 'k8s.plugin.opnfv.org/ovnInterfaces';
const STATUS = 'k8s.v1.cni.cncf.io/network-status';
const nfn = JSON.stringify({
  interface: [
    { name: 'net1', interface: 'net0' },
    { name: 'pnet', interface: 'net1' },
  ],
});
const ovn = JSON.stringify([
  { ip_address: '10.1.0.5/24', mac_address: '0a:00:00:00:00:01', interface: 'net0' },
  { ip_address: '172.16.0.7', interface: 'net1' },
  { ip_address: '10.3.0.9/24', interface: 'net7' },
]);

describe('addresses in second networks', () => {
  it("come from Nodus' list, which nfn-network gives the names of networks", () => {
    expect(secondAddressesIn({ [NFN]: nfn, [OVN]: ovn })).toEqual([
      { network: 'net1', addresses: ['10.1.0.5'] },
      { network: 'pnet', addresses: ['172.16.0.7'] },
    ]);
  });

  it('come from the lists that Nodus of today writes, of both families', () => {
    const lists = JSON.stringify([
      {
        ip_address: ['10.1.0.5/24', 'fd01::5/64'],
        mac_address: '0a:00:00:00:00:01',
        gateway_ip: ['10.1.0.1', 'fd01::1'],
        interface: 'net0',
      },
      { ip_address: ['172.16.0.7'], gateway_ip: [], interface: 'net1' },
      { ip_address: [], interface: 'net7' },
    ]);
    expect(secondAddressesIn({ [NFN]: nfn, [OVN]: lists })).toEqual([
      { network: 'net1', addresses: ['10.1.0.5', 'fd01::5'] },
      { network: 'pnet', addresses: ['172.16.0.7'] },
    ]);
    expect(subnetsIn({ [NFN]: nfn, [OVN]: lists })).toEqual([
      { network: 'net1', subnet: '10.1.0.0/24' },
      { network: 'net1', subnet: 'fd01::/64' },
    ]);
  });

  it("come from Multus' list, without that of the cluster's network", () => {
    const status = JSON.stringify([
      { name: 'cbr0', default: true, ips: ['10.244.0.9'] },
      { name: 'apps/net1', interface: 'net0', ips: ['10.1.0.5', 'fd00::5'] },
      { name: 'sriov' },
    ]);
    expect(secondAddressesIn({ [STATUS]: status, [NFN]: nfn, [OVN]: ovn })).toEqual([
      { network: 'net1', addresses: ['10.1.0.5', 'fd00::5'] },
      { network: 'pnet', addresses: ['172.16.0.7'] },
      { network: 'apps/net1', addresses: ['10.1.0.5', 'fd00::5'] },
      { network: 'sriov', addresses: [] },
    ]);
  });

  it('keep attachments in two namespaces apart, and follow what Multus writes later', () => {
    const before = [
      { name: 'a/b', ips: ['10.1.0.5'] },
      { name: 'a-b', ips: ['10.3.0.5'] },
    ];
    const of = (network: string, entries: object[]) =>
      secondAddressesIn({ [STATUS]: JSON.stringify(entries) }).find(
        (one) => one.network === network,
      )?.addresses;
    expect([of('a/b', before), of('a-b', before)]).toEqual([['10.1.0.5'], ['10.3.0.5']]);
    expect(of('c/b', before)).toBeUndefined();
    expect(of('a/b', [{ name: 'a/b', ips: ['10.1.0.5', 'fd01::5'] }])).toEqual([
      '10.1.0.5',
      'fd01::5',
    ]);
  });

  it('are never those of the cluster, whatever a network is called', () => {
    expect(
      secondAddressesIn({ [STATUS]: JSON.stringify([{ name: 'x/cluster', ips: ['10.0.0.1'] }]) }),
    ).toEqual([]);
  });

  it.each(['', '{', '[1]', '{}', `[${'"x",'.repeat(40)}"x"]`, ' '.repeat(20_000)])(
    'are none in what cannot be read (%#)',
    (text) => {
      expect(secondAddressesIn({ [NFN]: text, [OVN]: ovn })).toEqual([]);
      expect(secondAddressesIn({ [NFN]: nfn, [OVN]: text, [STATUS]: text })).toEqual([]);
    },
  );
});

it("takes a CNF's subnets from its own addresses", () => {
  expect(subnetsIn({ [NFN]: nfn, [OVN]: ovn })).toEqual([
    { network: 'net1', subnet: '10.1.0.0/24' },
  ]);
});
