/**
 * A CNF as ICN's controller configured it: what it sent to REST, and the CRs that it was made from.
 */
import type { RuleObject } from '#shared/kube/objects.ts';
import { icnPost, MWAN3_RULE, ofIcn, PROPOSAL, REMOTE } from './icn.ts';
import type { TestOpenwrt } from './openwrt.ts';
import { cr } from './pass.ts';

export const zoneBody = { name: 'lan1', network: ['net1'], input: 'ACCEPT', masq: '1' };
export const zoneCr = (options: object = {}, metadata: object = ofIcn): RuleObject =>
  cr(
    'FirewallZone',
    'lan1',
    { network: ['ovn-net1'], input: 'ACCEPT', masq: '1', ...options },
    metadata,
  );
export const ruleBody = {
  name: 'reject-80',
  src: 'lan1',
  proto: 'tcp',
  dest_port: '80',
  target: 'REJECT',
};
export const ruleCr = (options: object = {}, metadata: object = ofIcn): RuleObject =>
  cr(
    'FirewallRule',
    'reject-80',
    { src: 'lan1', proto: 'tcp', dest_port: '80', target: 'REJECT', ...options },
    metadata,
  );

/**
 * One object of each kind that ICN's REST keeps in the packages where ours are, and the CRs that
 * they were made from.
 */
export const configureAll = async (openwrt: TestOpenwrt): Promise<RuleObject[]> => {
  const snat = { src_ip: '10.1.0.0/16', src_dip: '10.0.0.1', dest: 'wan', proto: 'tcp' };
  const dnat = {
    src: 'lan1',
    src_dport: '22',
    dest_ip: '10.0.0.2',
    dest_port: '2222',
    proto: 'tcp',
  };
  const forwarding = { src: 'lan1', dest: 'wan' };
  const members = [
    { interface: 'net1', metric: '1', weight: '2' },
    { interface: 'net2', metric: '2', weight: '1' },
  ];

  // The order in which retries happened to get through: not that of the CRs' age.
  await icnPost(openwrt, 'firewall/v1/zones', zoneBody);
  await icnPost(openwrt, 'firewall/v1/forwardings', { name: 'lan1-wan', ...forwarding });
  await icnPost(openwrt, 'firewall/v1/redirects', { name: 'web', target: 'DNAT', ...dnat });
  await icnPost(openwrt, 'firewall/v1/rules', { ...ruleBody, name: 'zz-last', dest_port: '81' });
  await icnPost(openwrt, 'firewall/v1/rules', ruleBody);
  await icnPost(openwrt, 'firewall/v1/redirects', { name: 'out', target: 'SNAT', ...snat });
  await icnPost(openwrt, 'mwan3/v1/policies', { name: 'balance', members });
  await icnPost(openwrt, 'mwan3/v1/rules', { name: 'https', ...MWAN3_RULE });
  await icnPost(openwrt, 'ipsec/v1/proposals', { name: 'prop1', ...PROPOSAL });
  await icnPost(openwrt, 'ipsec/v1/remotes', { name: 'site1', gateway: '203.0.113.1', ...REMOTE });
  const at = (second: number) => ({ ...ofIcn, creationTimestamp: `2026-01-01T00:00:0${second}Z` });
  return [
    ruleCr({}, at(0)),
    zoneCr({}, at(1)),
    cr('FirewallRule', 'zz-last', { ...ruleBody, dest_port: '81' }, at(2)),
    cr('FirewallForwarding', 'lan1-wan', forwarding, {
      finalizers: ['forwarding.finalizers.sdewan.akraino.org'],
    }),
    cr('FirewallDNAT', 'web', dnat, { finalizers: ['dnat.finalizers.sdewan.akraino.org'] }),
    cr('FirewallSNAT', 'out', snat, { finalizers: ['snat.finalizers.sdewan.akraino.org'] }),
    cr(
      'Mwan3Policy',
      'balance',
      {
        members: [
          { network: 'ovn-net1', metric: 1, weight: 2 },
          { network: 'ovn-net2', metric: 2, weight: 1 },
        ],
      },
      ofIcn,
    ),
    cr('Mwan3Rule', 'https', MWAN3_RULE, ofIcn),
    cr('IpsecProposal', 'prop1', PROPOSAL, {
      finalizers: ['proposal.finalizers.sdewan.akraino.org'],
    }),
    cr(
      'IpsecSite',
      'site1',
      { remote: '203.0.113.1', ...REMOTE },
      { finalizers: ['ipsec.site.finalizers.sdewan.akraino.org'] },
    ),
  ];
};

/** The packages that all of it is in, as text. */
export const configuredTexts = (openwrt: TestOpenwrt): Record<string, string> =>
  Object.fromEntries(
    ['firewall', 'mwan3', 'ipsec', 'network'].map((name) => [name, openwrt.text(name)]),
  );
