import { describe, expect, it } from 'vitest';
import { policyNetworksIn } from './policy-networks.ts';

const NFN = JSON.stringify({
  type: 'ovn4nfv',
  interface: [
    { name: 'ovn-net1', interface: 'net0' },
    { name: 'pnet', interface: 'net1' },
  ],
});
const read = (networks: string, kinds?: string, attached = NFN) =>
  policyNetworksIn({
    'sdewan.akraino.org/policy-networks': networks,
    'k8s.plugin.opnfv.org/nfn-network': attached,
    ...(kinds !== undefined && { 'sdewan.akraino.org/policy-kinds': kinds }),
  });

describe('annotation policy-networks', () => {
  it('names networks of the pod, and the pods of the cluster', () => {
    expect(read('ovn-net1, cluster')).toEqual({
      scope: [
        { name: 'ovn-net1', subnets: [] },
        { name: 'cluster', subnets: [] },
      ],
      hasNetworkPolicies: false,
      problems: [],
    });
  });

  it('may say subnets', () => {
    expect(read('pnet=10.1.0.7/24,pnet=fd00::/64').scope).toEqual([
      { name: 'pnet', subnets: ['10.1.0.0/24', 'fd00::/64'] },
    ]);
  });

  it.each([
    ['cluster,net9', '"net9" must be one of cluster, ovn-net1, pnet'],
    ['', '"" must be one of cluster, ovn-net1, pnet'],
    ['pnet=10.1.0.0/33', '"pnet=10.1.0.0/33" must be cluster, or a network'],
    ['cluster=10.1.0.0/24', '"cluster=10.1.0.0/24" must be cluster, or a network'],
  ])('%j is refused, with what is known', (value, message) => {
    const { problems, scope } = read(value);
    expect(scope).toEqual([]);
    expect(problems).toEqual([expect.stringContaining(message)]);
  });

  it('takes attachments of Multus, by either name, and never those of another namespace', () => {
    const asked = (networks: string, namespace?: string, nodus?: string) =>
      policyNetworksIn(
        {
          'sdewan.akraino.org/policy-networks': networks,
          'k8s.v1.cni.cncf.io/networks': 'lan,apps/wan@w',
          ...(nodus !== undefined && { 'k8s.plugin.opnfv.org/nfn-network': nodus }),
        },
        namespace,
      );
    const names = (networks: string, namespace?: string) =>
      asked(networks, namespace).scope.map(({ name }) => name);
    expect(names('lan,apps/wan', 'edge')).toEqual(['edge/lan', 'apps/wan']);
    expect(names('edge/lan=10.1.0.0/24', 'edge')).toEqual(['edge/lan']);
    expect(asked('wan', 'edge').problems[0]).toContain(
      '"wan" must be one of cluster, lan, apps/wan',
    );
    // In a template.
    expect(asked('edge/lan,lan').problems).toEqual([]);
    const nodus = '{"interface":[{"name":"lan","interface":"net0"}]}';
    expect(asked('lan', 'edge', nodus).problems[0]).toContain('"lan" may be each of lan, edge/lan');
  });

  it('names the cluster alone on a pod whose networks cannot be read', () => {
    expect(read('ovn-net1', undefined, '{').problems[0]).toContain('must be one of cluster');
    expect(read('cluster', undefined, '{').problems).toEqual([]);
  });
});

describe('annotation policy-kinds', () => {
  it('lets NetworkPolicies hold for second networks', () => {
    expect(read('ovn-net1', 'NetworkPolicy').hasNetworkPolicies).toBe(true);
  });

  it('is nothing else, and nothing without networks', () => {
    expect(read('ovn-net1', 'Ingress').problems).toEqual([
      'annotation sdewan.akraino.org/policy-kinds: "Ingress" must be NetworkPolicy',
    ]);
    expect(
      policyNetworksIn({ 'sdewan.akraino.org/policy-kinds': 'NetworkPolicy' }).problems,
    ).toEqual([
      'annotation sdewan.akraino.org/policy-kinds needs annotation sdewan.akraino.org/policy-networks',
    ]);
  });
});
