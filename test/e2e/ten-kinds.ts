/** The ten kinds of the seed as end-to-end tests make, change and delete them, and what the CNFs' own files must hold for each. */
import { expect } from 'vitest';
import type { Cluster } from 'kind-test-harness';
import { holdsOnce, timesIn, type CnfConfig, type Expectation } from '../judge/seed-rules.ts';
import type { Cnf } from '../stack/cnf.ts';
import { observePods, observeRules, readCnf } from '../stack/observe.ts';
import { apply, remove, waitGone, waitInSync } from '../stack/operator.ts';
import { rule, zone, type Rule } from '../stack/rules.ts';

const connection = { name: 'conn-a', conn_type: 'tunnel', mode: 'start' };
const site = (remote: string, name: string): Record<string, unknown> => ({
  remote,
  authentication_method: 'psk',
  pre_shared_key: 'e2e-key',
  crypto_proposal: ['prop-1'],
  connections: [{ ...connection, name }],
});
const members = (network: string): Record<string, unknown> => ({
  members: [{ network, metric: 1, weight: 7 }],
});

type Case = {
  rule: Rule;
  changed: Record<string, unknown>;
  shows: (isChanged: boolean) => Expectation[];
};

const firewall = (type: string, options: Expectation['options']): Expectation[] => [
  { package: 'firewall', type, options },
];

/** Per kind a rule, what an update makes of its spec, and what must be in the files then and after. */
const cases: readonly Case[] = [
  {
    rule: zone('wan1', 'ovn-net2'),
    changed: { network: ['ovn-net2'], input: 'REJECT' },
    shows: (is) => firewall('zone', { name: 'wan1', input: is ? 'REJECT' : 'ACCEPT' }),
  },
  {
    rule: zone('lan1', 'ovn-net1'),
    changed: { network: ['ovn-net1'], input: 'DROP' },
    shows: (is) => firewall('zone', { name: 'lan1', input: is ? 'DROP' : 'ACCEPT' }),
  },
  {
    rule: rule('FirewallForwarding', 'fwd-1', { src: 'lan1', dest: 'wan1' }),
    changed: { src: 'wan1', dest: 'lan1' },
    shows: (is) =>
      firewall('forwarding', { src: is ? 'wan1' : 'lan1', dest: is ? 'lan1' : 'wan1' }),
  },
  {
    rule: rule('FirewallRule', 'rule-1', {
      src: 'lan1',
      proto: 'tcp',
      dest_port: 81,
      target: 'DROP',
    }),
    changed: { src: 'lan1', proto: 'tcp', dest_port: 81, target: 'REJECT' },
    shows: (is) => firewall('rule', { dest_port: '81', target: is ? 'REJECT' : 'DROP' }),
  },
  {
    rule: rule('FirewallDNAT', 'dnat-1', {
      src: 'wan1',
      proto: 'tcp',
      src_dport: 8081,
      dest_ip: '192.168.1.7',
    }),
    changed: { src: 'wan1', proto: 'tcp', src_dport: 8081, dest_ip: '192.168.1.8' },
    shows: (is) =>
      firewall('redirect', {
        target: 'DNAT',
        src_dport: '8081',
        dest_ip: `192.168.1.${is ? 8 : 7}`,
      }),
  },
  {
    rule: rule('FirewallSNAT', 'snat-1', {
      dest: 'wan1',
      src_ip: '10.7.0.0/16',
      src_dip: '1.2.3.4',
    }),
    changed: { dest: 'wan1', src_ip: '10.7.0.0/16', src_dip: '1.2.3.5' },
    shows: (is) =>
      firewall('redirect', {
        target: 'SNAT',
        src_ip: '10.7.0.0/16',
        src_dip: `1.2.3.${is ? 5 : 4}`,
      }),
  },
  {
    rule: rule('Mwan3Policy', 'policy-1', members('ovn-net1')),
    changed: members('ovn-net2'),
    shows: (is) => [
      {
        package: 'mwan3',
        type: 'policy',
        options: { use_member: [`policy_1_net${is ? 2 : 1}`] },
      },
      {
        package: 'mwan3',
        type: 'member',
        options: { interface: `net${is ? 2 : 1}`, metric: '1', weight: '7' },
      },
    ],
  },
  {
    rule: rule('Mwan3Rule', 'mrule-1', { policy: 'policy-1', dest_ip: '10.8.0.0/16' }),
    changed: { policy: 'policy-1', dest_ip: '10.9.0.0/16' },
    shows: (is) => [
      {
        package: 'mwan3',
        type: 'rule',
        options: { use_policy: 'policy_1', dest_ip: `10.${is ? 9 : 8}.0.0/16` },
      },
    ],
  },
  {
    rule: rule('IpsecProposal', 'prop-1', {
      encryption_algorithm: 'aes128',
      hash_algorithm: 'sha256',
      dh_group: 'modp3072',
    }),
    changed: { encryption_algorithm: 'aes256', hash_algorithm: 'sha256', dh_group: 'modp3072' },
    shows: (is) => [
      {
        package: 'ipsec',
        type: 'proposal',
        options: { encryption_algorithm: is ? 'aes256' : 'aes128' },
      },
    ],
  },
  {
    rule: rule('IpsecSite', 'site-1', site('203.0.113.1', 'conn-a')),
    changed: site('203.0.113.2', 'conn-a'),
    shows: (is) => [
      {
        package: 'ipsec',
        type: 'remote',
        options: {
          gateway: `203.0.113.${is ? 2 : 1}`,
          tunnel: ['conn_a'],
          crypto_proposal: ['prop_1'],
        },
      },
    ],
  },
  {
    rule: rule('IpsecHost', 'host-1', site('203.0.113.11', 'conn-b')),
    changed: site('203.0.113.12', 'conn-b'),
    shows: (is) => [
      {
        package: 'ipsec',
        type: 'remote',
        options: { gateway: `203.0.113.${is ? 12 : 11}`, tunnel: ['conn_b'] },
      },
    ],
  },
];

const rulesOf = ({ purpose }: Cnf, isChanged: boolean): Rule[] =>
  cases.map(({ rule: { kind, metadata, spec }, changed }) =>
    rule(kind, metadata.name, isChanged ? changed : spec, purpose),
  );

const configsOf = async (cluster: Cluster, cnf: Cnf): Promise<CnfConfig[]> => {
  const { namespace, purpose } = cnf;
  const pods = await observePods(cluster, namespace, purpose);
  return Promise.all(pods.map(({ name: pod }) => readCnf(cluster, { namespace, pod })));
};

const expectHeld = async (cluster: Cluster, cnf: Cnf, isChanged: boolean): Promise<void> => {
  await waitInSync(cluster, cnf.namespace, rulesOf(cnf, isChanged));
  const found = await configsOf(cluster, cnf);
  expect(found).toHaveLength(cnf.replicas);
  for (const config of found) {
    const lacking = cases.filter(({ shows }) => !holdsOnce(config, shows(isChanged)));
    expect(lacking.map((each) => each.rule.metadata.name)).toEqual([]);
  }
};

/** Creates them, and sees each once in the files of all replicas. */
export const expectCreated = async (cluster: Cluster, cnf: Cnf): Promise<void> => {
  await apply(cluster, cnf.namespace, ...rulesOf(cnf, false));
  await expectHeld(cluster, cnf, false);
};

/** Changes them, and sees it. */
export const expectChanged = async (cluster: Cluster, cnf: Cnf): Promise<void> => {
  const versions = async () =>
    (await observeRules(cluster, cnf.namespace)).map(({ status }) => status?.appliedVersion);
  await apply(cluster, cnf.namespace, ...rulesOf(cnf, true));
  await expect.poll(versions, { timeout: 60_000 }).toEqual(cases.map(() => '2'));
  await expectHeld(cluster, cnf, true);
};

/** Changed as they are, they are there once. */
export const expectStillHeld = (cluster: Cluster, cnf: Cnf): Promise<void> =>
  expectHeld(cluster, cnf, true);

/** Deletes them, and sees nothing of them in the files. */
export const expectRemoved = async (cluster: Cluster, cnf: Cnf): Promise<void> => {
  const rules = rulesOf(cnf, true);
  // What others refer to goes last.
  await remove(cluster, cnf.namespace, ...rules.toReversed());
  await waitGone(cluster, cnf.namespace, rules);
  for (const config of await configsOf(cluster, cnf)) {
    const left = cases
      .flatMap(({ shows }) => shows(true))
      .filter((each) => timesIn(config, each) > 0);
    expect(left).toEqual([]);
  }
};
