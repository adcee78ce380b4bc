import { describe, expect, it } from 'vitest';
import { gatewaysOf, scopeOf, type Gateway } from './enforcing-cnfs.ts';
import type { PolicyAnnotations } from '../../sources/policy-annotation.ts';

const NFN = JSON.stringify({
  interface: [
    { name: 'net1', interface: 'net0' },
    { name: 'pnet', interface: 'net1' },
  ],
});
const pod = (
  name: string,
  networks: string | undefined,
  more: Record<string, string> = {},
): PolicyAnnotations => ({
  object: {
    apiVersion: 'v1',
    kind: 'Pod',
    metadata: {
      name,
      namespace: 'edge',
      uid: name,
      resourceVersion: '1',
      creationTimestamp: '2026-01-01T00:00:00Z',
    },
  },
  namespace: 'edge',
  purpose: 'cnf-1',
  annotations: {
    'k8s.plugin.opnfv.org/nfn-network': NFN,
    ...(networks !== undefined && { 'sdewan.akraino.org/policy-networks': networks }),
    ...more,
  },
});
const ovn = (address: string) => ({
  'k8s.plugin.opnfv.org/ovnInterfaces': JSON.stringify([
    { ip_address: address, interface: 'net0' },
  ]),
});
const gatewayOf = (...pods: PolicyAnnotations[]): Gateway => {
  const [gateway] = gatewaysOf(pods).gateways;
  if (gateway === undefined) throw new Error('no gateway');
  return gateway;
};

describe('a CNF that asks for policies', () => {
  it('is the gateway of what any of its pods says, with the subnets of their own addresses', () => {
    expect(
      gatewayOf(pod('a', 'net1', ovn('10.1.0.2/24')), pod('b', 'cluster,net1', ovn('10.1.0.3/24'))),
    ).toEqual({
      namespace: 'edge',
      purpose: 'cnf-1',
      hasCluster: true,
      networks: [{ name: 'net1', subnets: ['10.1.0.0/24'] }],
      hasNetworkPolicies: false,
      isUnread: false,
    });
  });

  it('is none without the annotation', () => {
    expect(gatewaysOf([pod('a', undefined)])).toEqual({ gateways: [], invalid: [] });
  });

  it('is named with what is wrong, and nothing is taken from it', () => {
    const { gateways, invalid } = gatewaysOf([pod('a', 'net9')]);
    expect(gateways).toMatchObject([{ isUnread: true }]);
    expect(invalid).toMatchObject([
      {
        object: { metadata: { name: 'a' } },
        message: expect.stringContaining('"net9" must be one of cluster, net1, pnet'),
      },
    ]);
    expect(gatewayOf(pod('a', 'net9'), pod('b', 'cluster'))).toMatchObject({
      isUnread: false,
      hasCluster: true,
    });
  });
});

describe('where a policy holds', () => {
  const networkPolicy = { kind: 'NetworkPolicy' as const, networks: [] };
  const multi = (...networks: string[]) => ({ kind: 'MultiNetworkPolicy' as const, networks });
  const NET1 = { name: 'net1', subnets: ['10.1.0.0/24'] };
  const CLUSTER = { name: 'cluster', subnets: [] };
  const both = gatewayOf(pod('a', 'cluster,net1', ovn('10.1.0.2/24')));

  it("includes pods' own addresses for a NetworkPolicy", () => {
    expect(scopeOf(networkPolicy, both)).toEqual({ scope: [CLUSTER] });
    expect(scopeOf(networkPolicy, gatewayOf(pod('a', 'net1')))).toBeUndefined();
  });

  it('includes second networks for a NetworkPolicy only where the operator asks for it', () => {
    const kinds = { 'sdewan.akraino.org/policy-kinds': 'NetworkPolicy', ...ovn('10.1.0.2/24') };
    expect(scopeOf(networkPolicy, gatewayOf(pod('a', 'cluster,net1', kinds)))).toEqual({
      scope: [CLUSTER, NET1],
    });
  });

  it('includes the networks that a MultiNetworkPolicy names, by either form of their names', () => {
    expect(scopeOf(multi('net1', 'other'), both)).toEqual({ scope: [NET1] });
    expect(scopeOf(multi('apps/net1'), both)).toEqual({ scope: [NET1] });
    expect(scopeOf(multi('other'), both)).toBeUndefined();
    expect(scopeOf(multi(), both)).toBeUndefined();
  });

  it('finds a MultiNetworkPolicy for attachments of Multus by namespace and name', () => {
    const selected = { 'k8s.v1.cni.cncf.io/networks': 'lan' };
    const gateway = gatewayOf(pod('a', 'lan=10.4.0.0/24', selected));
    expect(scopeOf(multi('edge/lan'), gateway)).toEqual({
      scope: [{ name: 'edge/lan', subnets: ['10.4.0.0/24'] }],
    });
    expect(scopeOf(multi('apps/lan', 'edge-lan'), gateway)).toBeUndefined();
  });

  it('is not known while no subnet of a network is', () => {
    expect(scopeOf(multi('net1'), gatewayOf(pod('a', 'net1')))).toEqual({ unknown: 'net1' });
    expect(scopeOf(multi('pnet'), gatewayOf(pod('a', 'pnet=10.7.0.0/16')))).toEqual({
      scope: [{ name: 'pnet', subnets: ['10.7.0.0/16'] }],
    });
  });
});
