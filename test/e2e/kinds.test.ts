/** A CR of every kind that the cluster has, made, changed and deleted at once on a CNF with two replicas; its own files tell. */
import { createHash } from 'node:crypto';
import { beforeAll, describe, expect, it } from 'vitest';
import { z } from 'zod';
import { readUci, type JudgedSection } from '../judge/uci.ts';
import { createCnf } from '../stack/cnf.ts';
import { observePods, readCnfFile, readConfigFile, until } from '../stack/observe.ts';
import { apply, remove, waitGone, waitInSync } from '../stack/operator.ts';
import { inAnyOrder, rule, type Rule } from '../stack/rules.ts';
import { e2eCluster } from './cluster.ts';
import { applySamples, expectSamplesIn } from './icn-samples.ts';

const PURPOSE = 'cnf-1';
const PACKAGES = ['firewall', 'mwan3', 'network', 'ipsec'];
/** Tells something and asks for nothing. */
const WITHOUT_SPEC = ['CNFStatus'];

type Sample = {
  kind: string;
  name: string;
  spec: Record<string, unknown>;
  changed: Record<string, unknown>;
  /** `package.section option`, and what it is before and after. */
  shows: [place: string, before: string | undefined, after: string | undefined];
};

const zone = { network: ['ovn-net1'] };
const connection = (name: string, mode: string) => [{ name, conn_type: 'tunnel', mode }];
const remote = {
  authentication_method: 'psk',
  pre_shared_key: 's3cret',
  crypto_proposal: ['k-prop'],
};

const pemOf = (label: string, of: string): string =>
  `-----BEGIN ${label}-----\n${Buffer.from(of).toString('base64')}\n-----END ${label}-----\n`;
const byCertificate = (of: string) => ({
  remote: '203.0.113.1',
  authentication_method: 'pubkey',
  crypto_proposal: ['k-prop'],
  local_public_cert: Buffer.from(pemOf('CERTIFICATE', of)).toString('base64'),
  local_private_cert: Buffer.from(pemOf('PRIVATE KEY', of)).toString('base64'),
  connections: connection('k-h', 'start'),
});
const fileOf = (of: string): string => {
  const hash = createHash('sha256').update(pemOf('CERTIFICATE', of)).digest('hex');
  return `/etc/ipsec.d/certs/sdewan-${hash.slice(0, 32)}.pem`;
};

const samples: readonly Sample[] = [
  {
    kind: 'FirewallZone',
    name: 'kzone',
    spec: { ...zone, input: 'ACCEPT' },
    changed: { ...zone, input: 'DROP' },
    shows: ['firewall.sdewan_zone_kzone input', 'ACCEPT', 'DROP'],
  },
  {
    kind: 'FirewallForwarding',
    name: 'k-fwd',
    spec: { src: 'kzone', dest: 'wan' },
    changed: { src: 'kzone', dest: 'lan' },
    shows: ['firewall.sdewan_fwd_k_fwd dest', 'wan', 'lan'],
  },
  {
    kind: 'FirewallRule',
    name: 'k-rule',
    spec: { src: 'kzone', target: 'DROP' },
    changed: { src: 'kzone', target: 'REJECT' },
    shows: ['firewall.sdewan_rule_k_rule target', 'DROP', 'REJECT'],
  },
  {
    kind: 'FirewallDNAT',
    name: 'k-dnat',
    spec: { src: 'kzone', proto: 'tcp', src_dport: 80, dest_ip: '192.168.1.1' },
    changed: { src: 'kzone', proto: 'tcp', src_dport: 80, dest_ip: '192.168.1.2' },
    shows: ['firewall.sdewan_dnat_k_dnat dest_ip', '192.168.1.1', '192.168.1.2'],
  },
  {
    kind: 'FirewallSNAT',
    name: 'k-snat',
    spec: { dest: 'kzone', src_dip: '1.2.3.4' },
    changed: { dest: 'kzone', src_dip: '1.2.3.5' },
    shows: ['firewall.sdewan_snat_k_snat src_dip', '1.2.3.4', '1.2.3.5'],
  },
  {
    kind: 'NetworkFirewallRule',
    name: 'k-net',
    spec: { src: 'eth0', target: 'DROP' },
    changed: { src: 'eth0', target: 'ACCEPT' },
    shows: ['firewall.sdewan_net_k_net target', 'DROP', 'ACCEPT'],
  },
  {
    kind: 'CNFNAT',
    name: 'k-nat',
    spec: { target: 'SNAT', dest: 'eth0', src_dip: '1.2.3.4' },
    changed: { target: 'SNAT', dest: 'eth0', src_dip: '1.2.3.5' },
    shows: ['firewall.sdewan_nat_k_nat snat_ip', '1.2.3.4', '1.2.3.5'],
  },
  {
    kind: 'Mwan3Policy',
    name: 'k-policy',
    spec: { members: [{ network: 'ovn-net1', metric: 1, weight: 1 }] },
    changed: { members: [{ network: 'ovn-net1', metric: 1, weight: 2 }] },
    shows: ['mwan3.k_policy_net1 weight', '1', '2'],
  },
  {
    kind: 'Mwan3Rule',
    name: 'k-mrule',
    spec: { policy: 'k-policy', dest_ip: '0.0.0.0/0' },
    changed: { policy: 'k-policy', dest_ip: '8.8.8.8' },
    shows: ['mwan3.k_mrule dest_ip', '0.0.0.0/0', '8.8.8.8'],
  },
  {
    kind: 'CNFRoute',
    name: 'k-route',
    spec: { dst: '10.8.0.0/16', dev: 'net1', table: 'cnf' },
    changed: { dst: '10.9.0.0/16', dev: 'net1', table: 'cnf' },
    shows: ['network.sdewan_route_k_route target', '10.8.0.0/16', '10.9.0.0/16'],
  },
  {
    kind: 'CNFRouteRule',
    name: 'k-rrule',
    spec: { src: '10.0.0.0/8', table: 40 },
    changed: { src: '10.0.0.0/8', table: 41 },
    shows: ['network.sdewan_rule_k_rrule lookup', '40', '41'],
  },
  {
    kind: 'IpsecProposal',
    name: 'k-prop',
    spec: { encryption_algorithm: 'aes256', hash_algorithm: 'sha256' },
    changed: { encryption_algorithm: 'aes128', hash_algorithm: 'sha256' },
    shows: ['ipsec.k_prop encryption_algorithm', 'aes256', 'aes128'],
  },
  {
    kind: 'IpsecHost',
    name: 'k-host',
    spec: byCertificate('before'),
    changed: byCertificate('after'),
    shows: ['ipsec.k_host local_public_cert', fileOf('before'), fileOf('after')],
  },
  {
    kind: 'IpsecSite',
    name: 'k-site',
    spec: { ...remote, remote: '203.0.113.2', connections: connection('k-s', 'start') },
    changed: { ...remote, remote: '203.0.113.3', connections: connection('k-s', 'start') },
    shows: ['ipsec.k_site gateway', '203.0.113.2', '203.0.113.3'],
  },
  {
    // Its pods are the CNF's own; ADDRESS is that of the first.
    kind: 'SdewanApplication',
    name: 'k-app',
    spec: { podSelector: { matchLabels: { sdewanPurpose: PURPOSE } } },
    changed: { podSelector: { matchLabels: { sdewanPurpose: 'nobody' } } },
    shows: ['network.sdewan_app_k_app_ADDRESS lookup', '40', undefined],
  },
  {
    kind: 'CNFService',
    name: 'k-svc',
    spec: { fullname: '192.0.2.10', port: 8_866, dport: 80 },
    changed: { fullname: '192.0.2.11', port: 8_866, dport: 80 },
    shows: ['firewall.sdewan_nat_k_svcnat dest_ip', '192.0.2.10', '192.0.2.11'],
  },
  {
    kind: 'CNFLocalService',
    name: 'k-local',
    spec: { localservice: '10.0.0.9', localport: 1, remoteservice: '192.0.2.20', remoteport: 2 },
    changed: { localservice: '10.0.0.8', localport: 1, remoteservice: '192.0.2.20', remoteport: 2 },
    shows: ['firewall.sdewan_nat_k_localnat0 dest_ip', '10.0.0.9', '10.0.0.8'],
  },
  {
    kind: 'CNFHubSite',
    name: 'k-hub',
    spec: { type: 'Device', subnet: '10.20.0.0/16', devicepip: '127.0.0.1' },
    changed: { type: 'Device', subnet: '10.21.0.0/16', devicepip: '127.0.0.1' },
    shows: ['network.sdewan_route_k_hubroute0 target', '10.20.0.0/16', '10.21.0.0/16'],
  },
];

const crOf = ({ kind, name }: Sample, spec: Record<string, unknown>): Rule =>
  inAnyOrder(rule(kind, name, spec, PURPOSE));

const crdSchema = z.object({
  items: z.array(
    z.object({ spec: z.object({ group: z.string(), names: z.object({ kind: z.string() }) }) }),
  ),
});

describe('every kind on two replicas', async () => {
  const cluster = await e2eCluster();
  let namespace = '';
  let pods: string[] = [];
  let addresses: string[] = [];
  let atFirst: JudgedSection[][];

  const filesOf = async (pod: string): Promise<JudgedSection[][]> =>
    Promise.all(
      PACKAGES.map(async (file) =>
        readUci((await readConfigFile(cluster, { namespace, pod }, file)) ?? ''),
      ),
    );
  const valuesIn = async (pod: string): Promise<Record<string, unknown>> => {
    const files = await filesOf(pod);
    const values = samples.map(({ kind, shows: [place] }) => {
      const [section = '', option = ''] = place.split(' ');
      const [file = '', pattern = ''] = section.split('.');
      const name = pattern.replace('ADDRESS', (addresses[0] ?? '').replaceAll(/[.:]/g, '_'));
      const found = files[PACKAGES.indexOf(file)]?.find((one) => one.name === name);
      return [kind, found?.options[option]] as const;
    });
    return Object.fromEntries(values);
  };
  /** All pods show it, or the last of what they show. */
  const shown = async (which: 1 | 2): Promise<void> => {
    const expected = Object.fromEntries(samples.map(({ kind, shows }) => [kind, shows[which]]));
    for (const pod of pods)
      await expect.poll(() => valuesIn(pod), { timeout: 60_000, interval: 500 }).toEqual(expected);
  };

  /** Of the two certificates, which is there. */
  const certificatesIn = (pod: string): Promise<string[]> =>
    Promise.all(
      ['before', 'after'].map(
        async (of) => (await readCnfFile(cluster, { namespace, pod }, fileOf(of))) ?? '',
      ),
    );
  const certificates = async (...expected: string[]): Promise<void> => {
    for (const pod of pods)
      await expect
        .poll(() => certificatesIn(pod), { timeout: 60_000, interval: 500 })
        .toEqual(expected);
  };

  beforeAll(async () => {
    namespace = await cluster.createNamespace('kinds');
    await createCnf(cluster, { namespace, purpose: PURPOSE, replicas: 2 });
    pods = (await observePods(cluster, namespace, PURPOSE)).map(({ name }) => name);
    const { stdout } = await cluster.kubectl([
      'get',
      'pods',
      '-n',
      namespace,
      '-l',
      `sdewanPurpose=${PURPOSE}`,
      '-o',
      'jsonpath={.items[*].status.podIP}',
    ]);
    addresses = stdout.trim().split(' ').sort();
    atFirst = await filesOf(pods[0] ?? '');
  });

  it('there is a sample of each', async () => {
    const { stdout } = await cluster.kubectl(['get', 'crd', '-o', 'json']);
    const kinds = crdSchema
      .parse(JSON.parse(stdout))
      .items.filter(({ spec }) => spec.group === 'batch.sdewan.akraino.org')
      .map(({ spec }) => spec.names.kind);
    const known = new Set([...samples.map(({ kind }) => kind), ...WITHOUT_SPEC]);
    expect(kinds.filter((kind) => !known.has(kind))).toEqual([]);
  });

  it('applied: in sync, and in the files of both', async () => {
    const rules = samples.map((sample) => crOf(sample, sample.spec));
    await apply(cluster, namespace, ...rules);
    await waitInSync(cluster, namespace, rules);
    await shown(1);
    await certificates(pemOf('CERTIFICATE', 'before'), '');
  });

  it('changed: in sync, and in the files of both', async () => {
    const rules = samples.map((sample) => crOf(sample, sample.changed));
    await apply(cluster, namespace, ...rules);
    await shown(2);
    await waitInSync(cluster, namespace, rules);
    await certificates('', pemOf('CERTIFICATE', 'after'));
  });

  it('deleted: gone from Kubernetes, and both are as they were', async () => {
    const rules = samples.map((sample) => crOf(sample, sample.spec));
    await remove(cluster, namespace, ...rules);
    await waitGone(cluster, namespace, rules);
    // What the generators made goes by the garbage collector.
    await until('no rule left', 90_000, async () => {
      const { stdout } = await cluster.kubectl(['get', 'sdewan', '-n', namespace, '-o', 'name']);
      const left = stdout
        .split('\n')
        .filter((line) => line !== '' && !line.startsWith('cnfstatus'));
      return left.length === 0 ? true : undefined;
    });
    for (const pod of pods)
      await expect.poll(() => filesOf(pod), { timeout: 60_000, interval: 500 }).toEqual(atFirst);
    await certificates('', '');
  });

  it("ICN's samples of all kinds are accepted and in the files of both, a name too long is refused", async () => {
    const samples = await applySamples(cluster, { namespace, purpose: PURPOSE });
    for (const pod of pods) expectSamplesIn((await filesOf(pod)).flat(), samples);
    const long = rule('FirewallZone', 'twelve-chars', zone, PURPOSE);
    await expect(apply(cluster, namespace, long)).rejects.toThrow(
      "OpenWRT's firewall3 has no longer zone names",
    );
  });
});
