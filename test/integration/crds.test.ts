/** The generated CRDs on a real API server, which refuses some constructs only when it runs them. */
import { checkMetadata, checkSpec } from '#shared/compile/check.ts';
import { ruleOf } from '#shared/compile/testing.ts';
import { kindOf, kinds } from '#shared/resources/registry.ts';
import { createKubeClient, type KubeClient } from '#shared/kube/client.ts';
import { loadKubeConfig } from '#shared/kube/config.ts';
import type { KindDefinition } from '#shared/resources/kind.ts';
import { readFileSync } from 'node:fs';
import * as fc from 'fast-check';
import { connectCluster, type Cluster } from 'kind-test-harness';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { parseAllDocuments } from 'yaml';
import * as z from 'zod';
import { applyCrds } from './support/crds.ts';

const ICN_SAMPLES = new URL('../golden/cases/icn-samples.yaml', import.meta.url).pathname;

let cluster: Cluster;
let client: KubeClient;
let namespace: string;

beforeAll(async () => {
  cluster = await connectCluster();
  client = createKubeClient({ config: await loadKubeConfig({ kubeconfig: cluster.kubeconfig }) });
  await applyCrds(cluster);
  namespace = await cluster.createNamespace('crds');
});

afterAll(() => client.close());

const kindNamed = (kind: string): KindDefinition => {
  const definition = kindOf(kind);
  if (!definition) throw new Error(`no kind ${kind}`);
  return definition;
};

/** What the API server says of a CR, or `accepted`; nothing is stored. */
const answerTo = async (kind: string, name: string, spec: unknown): Promise<string> => {
  const { apiVersion } = ruleOf(kind, name, spec);
  const body = { apiVersion, kind, metadata: { name, namespace }, spec };
  try {
    await client.create(kindNamed(kind), body, { dryRun: true });
    return 'accepted';
  } catch (error) {
    return String(error);
  }
};

type Case = {
  kind: string;
  name?: string;
  spec: unknown;
  /** What the API server says, or `accepted`. */
  server: string;
  /** Where only our code can tell. */
  agent?: string;
};

const cases: Record<string, Case> = {
  'the seed, numbers instead of digits': {
    kind: 'FirewallRule',
    spec: { src: 'lan1', src_ip: '192.168.1.2', src_port: 80, proto: 'tcp', target: 'REJECT' },
    server: 'accepted',
  },
  'every kind of port': {
    kind: 'FirewallRule',
    spec: { src_port: '80 443,8000-8100 !22', proto: 'tcp udp' },
    server: 'accepted',
  },
  'a protocol by number': {
    kind: 'FirewallRule',
    spec: { proto: 6, src_port: '80' },
    server: 'accepted',
  },
  "blank fields, as ICN's controller sends them": {
    kind: 'Mwan3Rule',
    spec: {
      policy: 'p',
      src_ip: '',
      src_port: '',
      dest_ip: '',
      dest_port: '',
      proto: '',
      family: '',
      sticky: '',
      timeout: '',
    },
    server: 'accepted',
  },
  "the seed's five fields of a Mwan3Rule": {
    kind: 'Mwan3Rule',
    spec: {
      policy: 'balance1',
      src_ip: '192.168.1.2',
      dest_ip: '0.0.0.0/0',
      dest_port: '80',
      proto: 'tcp',
    },
    server: 'accepted',
  },
  'IPv6 and negation': {
    kind: 'FirewallRule',
    spec: { src_ip: '!2001:db8::/32 fe80::1', mark: '!0x10/0xff' },
    server: 'accepted',
  },
  'a number that is no port': {
    kind: 'FirewallRule',
    spec: { src_port: 70_000, proto: 'tcp' },
    server: 'must be ports from 1 to 65535',
  },
  'a text that is no port': {
    kind: 'FirewallRule',
    spec: { src_port: 'http', proto: 'tcp' },
    server: 'must be ports from 1 to 65535',
  },
  'a port range that runs backwards': {
    kind: 'FirewallRule',
    spec: { src_port: '90-80', proto: 'tcp' },
    server: 'accepted',
    agent: 'spec.src_port: must be ports',
  },
  'an address with a leading zero': {
    kind: 'FirewallRule',
    spec: { src_ip: '010.0.0.1' },
    server: 'accepted',
    agent: 'spec.src_ip: must be IPv4 or IPv6 addresses',
  },
  'a control character': {
    kind: 'FirewallRule',
    spec: { extra: 'a\nb' },
    server: 'must not have control characters',
  },
  'a word that is not in the list': {
    kind: 'FirewallRule',
    spec: { target: 'PASS' },
    server: 'Unsupported value: "PASS"',
  },
  'MARK with nothing to set': {
    kind: 'FirewallRule',
    spec: { target: 'MARK', set_mark: '' },
    server: 'spec.target: Invalid value: MARK needs set_mark or set_xmark',
  },
  'MARK with a number to set': {
    kind: 'FirewallRule',
    spec: { target: 'MARK', set_mark: 16 },
    server: 'accepted',
  },
  'NOTRACK without a zone': {
    kind: 'FirewallRule',
    spec: { target: 'NOTRACK', src: '*' },
    server: 'NOTRACK needs a zone in src',
  },
  'ports of a protocol that has none': {
    kind: 'FirewallRule',
    spec: { proto: 'tcp icmp', dest_port: 80 },
    server: 'ports need tcp, udp or tcpudp',
  },
  'ports of a protocol by number that has none': {
    kind: 'FirewallRule',
    spec: { proto: 1, dest_port: 80 },
    server: 'ports need tcp, udp or tcpudp',
  },
  'an ICMP type': {
    kind: 'FirewallRule',
    spec: { proto: 'icmp', icmp_type: ['echo-request', '3/4'] },
    server: 'accepted',
  },
  'too many items': {
    kind: 'FirewallRule',
    spec: { icmp_type: Array.from({ length: 65 }, () => 'any') },
    server: 'spec.icmp_type: Too many: 65',
  },
  'a zone name of eleven characters': {
    kind: 'FirewallZone',
    name: 'abcdefghijk',
    spec: { network: ['ovn-net1'], masq: 1, mtu_fix: '0' },
    server: 'accepted',
  },
  'a zone name of twelve characters': {
    kind: 'FirewallZone',
    name: 'abcdefghijkl',
    spec: { network: ['ovn-net1'] },
    server: 'the name must be at most 11 characters long',
  },
  'a zone name that begins with a digit': {
    kind: 'FirewallZone',
    name: '1lan',
    spec: { network: ['ovn-net1'] },
    server: 'the name must begin with a letter',
  },
  'a zone without networks': {
    kind: 'FirewallZone',
    name: 'z',
    spec: { network: [] },
    server: 'spec.network in body should have at least 1 items',
  },
  'a zone without a spec': {
    kind: 'FirewallZone',
    name: 'z',
    spec: undefined,
    server: 'spec: Required value',
  },
  'two spellings of one field': {
    kind: 'FirewallZone',
    name: 'z',
    spec: { network: ['n'], etra_dest: 'a', extra_dest: 'b' },
    server: 'is another spelling of extra_dest',
  },
  'a flag that is neither 0 nor 1': {
    kind: 'FirewallZone',
    name: 'z',
    spec: { network: ['n'], masq: 2 },
    server: 'must be 0 or 1',
  },
  'a negated network in a list': {
    kind: 'FirewallZone',
    name: 'z',
    spec: { network: ['n'], masq_src: ['!10.0.0.0/8', '192.168.0.0/255.255.0.0'] },
    server: 'accepted',
  },
  'SNAT without the new source': {
    kind: 'FirewallSNAT',
    spec: { dest: 'wan1' },
    server: 'is required: the new source address',
  },
  'SNAT of a MAC address': {
    kind: 'FirewallSNAT',
    spec: { dest: 'wan1', src_dip: '1.2.3.4', src_mac: '00:11:22:33:44:55' },
    server: 'cannot be used with SNAT',
  },
  'SNAT to a network': {
    kind: 'FirewallSNAT',
    spec: { dest: 'wan1', src_dip: '1.2.3.0/24' },
    server: 'must be an IPv4 or IPv6 address without a mask',
  },
  'DNAT without a source zone': {
    kind: 'FirewallDNAT',
    spec: { dest_ip: '1.2.3.4' },
    server: 'spec.src: Required value',
  },
  "DNAT, as ICN's controller leaves it": {
    kind: 'FirewallDNAT',
    spec: {
      name: 'd',
      target: 'DNAT',
      src: 'wan1',
      src_dport: 19_900,
      dest_ip: '192.168.1.1',
      dest_port: 22,
      proto: 'tcp',
    },
    server: 'accepted',
  },
  'a forwarding from everywhere': {
    kind: 'FirewallForwarding',
    spec: { src: '*', dest: 'wan1' },
    server: 'accepted',
  },
  'a policy': {
    kind: 'Mwan3Policy',
    spec: { members: [{ network: 'ovn-net1', metric: 1, weight: 2 }] },
    server: 'accepted',
  },
  'a policy name that mwan3 has built in': {
    kind: 'Mwan3Policy',
    name: 'blackhole',
    spec: { members: [{ network: 'ovn-net1', metric: 1, weight: 2 }] },
    server: 'mwan3 has these built in',
  },
  'a policy with one network twice': {
    kind: 'Mwan3Policy',
    spec: {
      members: [
        { network: 'n', metric: 1, weight: 2 },
        { network: 'n', metric: 2, weight: 2 },
      ],
    },
    server: 'each network can be a member once only',
  },
  'a policy member out of range': {
    kind: 'Mwan3Policy',
    spec: { members: [{ network: 'n', metric: 0, weight: 2 }] },
    server: 'should be greater than or equal to 1',
  },
  'mwan3 ports without a protocol': {
    kind: 'Mwan3Rule',
    spec: { policy: 'p', dest_port: '80' },
    server: 'ports need tcp or udp',
  },
  'a route by the default device': {
    kind: 'CNFRoute',
    spec: { dst: 'default', gw: '10.0.0.1', dev: '#default', table: 'cnf' },
    server: 'accepted',
  },
  'a route of two address families': {
    kind: 'CNFRoute',
    spec: { dst: '10.0.0.0/8', gw: 'fd00::1', dev: 'eth0' },
    server: 'must be of the same address family as dst',
  },
  'a device name that Linux does not take': {
    kind: 'CNFRoute',
    spec: { dst: 'default', dev: 'a-device-name-of-17' },
    server: 'must be a network device such as eth0',
  },
  'a route rule for everything': {
    kind: 'CNFRouteRule',
    spec: { table: 40, prio: 100 },
    server: 'src, dst or fwmark is required',
  },
  'a route rule with numbers': {
    kind: 'CNFRouteRule',
    spec: { fwmark: 16, table: 40, prio: 100, not: true },
    server: 'accepted',
  },
  'a network rule without a target': {
    kind: 'NetworkFirewallRule',
    spec: { src: 'eth0' },
    server: 'spec.target: Required value',
  },
  'a network rule with ports of all protocols': {
    kind: 'NetworkFirewallRule',
    spec: { src: 'eth0', dest_port: 80, target: 'DROP' },
    server: 'ports need tcp, udp or tcpudp',
  },
  'MARK on the way out': {
    kind: 'NetworkFirewallRule',
    spec: { src: 'eth0', dest: 'eth1', target: 'MARK', set_mark: 1 },
    server: 'cannot be used with MARK and NOTRACK',
  },
  'SNAT by the device of the new source': {
    kind: 'CNFNAT',
    spec: {
      target: 'SNAT',
      dest: '#source',
      src_dip: '10.0.0.1',
      src_dport: 5000,
      proto: 'udp',
      index: '1',
    },
    server: 'accepted',
  },
  'SNAT by no device': {
    kind: 'CNFNAT',
    spec: { target: 'SNAT', src_dip: '10.0.0.1' },
    server: 'is required for SNAT and MASQUERADE',
  },
  'SNAT to a network of sources': {
    kind: 'CNFNAT',
    spec: { target: 'SNAT', dest: 'eth0', src_dip: '10.0.0.0/24' },
    server: 'is required for SNAT, one address',
  },
  'MASQUERADE as something else': {
    kind: 'CNFNAT',
    spec: { target: 'MASQUERADE', dest: 'eth0', src_dip: '!10.0.0.0/24' },
    server: 'cannot be used with MASQUERADE',
  },
  'DNAT to the CNF itself': {
    kind: 'CNFNAT',
    spec: { target: 'DNAT', src_dport: 8080, dest_port: 80, proto: 'tcp' },
    server: 'accepted',
  },
  'DNAT to nowhere': {
    kind: 'CNFNAT',
    spec: { target: 'DNAT', src: 'eth0' },
    server: 'without it, dest_port is required',
  },
  'a cipher that strongSwan does not have': {
    kind: 'IpsecProposal',
    spec: { encryption_algorithm: 'rot13' },
    server: 'must be a cipher of strongSwan',
  },
  'a shared key in a Secret': {
    kind: 'IpsecSite',
    spec: {
      remote: '10.0.0.1',
      authentication_method: 'psk',
      pre_shared_key_from: { name: 'vpn', key: 'psk' },
      crypto_proposal: ['p1'],
      connections: [
        { name: 'c', conn_type: 'tunnel', mode: 'start', local_subnet: '10.1.0.0/16,10.2.0.0/16' },
      ],
    },
    server: 'accepted',
  },
  'a shared key twice': {
    kind: 'IpsecHost',
    spec: {
      remote: '%any',
      authentication_method: 'psk',
      pre_shared_key: 'x',
      pre_shared_key_from: { name: 'vpn', key: 'psk' },
      crypto_proposal: ['p1'],
      connections: [{ name: 'c', conn_type: 'tunnel', mode: 'start' }],
    },
    server: 'psk needs either pre_shared_key or pre_shared_key_from',
  },
  'a shared key that would break out of its file': {
    kind: 'IpsecHost',
    spec: {
      remote: '%any',
      authentication_method: 'psk',
      pre_shared_key: 'x" : PSK "y',
      crypto_proposal: ['p1'],
      connections: [{ name: 'c', conn_type: 'tunnel', mode: 'start' }],
    },
    server: 'must be 1 to 256 printable ASCII characters',
  },
  'a hub whose device Linux could not name': {
    kind: 'CNFHubSite',
    spec: { type: 'Hub', subnet: '10.0.0.0/8', hubip: '192.168.100.1' },
    server: 'at most 11 characters long: Linux takes at most 15 characters',
  },
  'a hub site without destination': {
    kind: 'CNFHubSite',
    spec: { type: 'Device', site: '', devicepip: '10.0.0.1' },
    server: 'site or subnet is required',
  },
  'a service without a port': {
    kind: 'CNFService',
    spec: { fullname: 'web.example.com', port: '', dport: 80 },
    server: 'must be a port from 1 to 65535',
  },
  'a service without a host': {
    kind: 'CNFService',
    spec: { fullname: 'web example', port: 80, dport: 80 },
    server: 'must be a host name',
  },
  'an application of all pods': {
    kind: 'SdewanApplication',
    spec: { podSelector: { matchLabels: {} } },
    server: 'it would select all pods',
  },
  'a label that is none': {
    kind: 'SdewanApplication',
    spec: { podSelector: { matchLabels: { 'a b': '1' } } },
    server: 'must be the key of a label',
  },
  'an expression without values': {
    kind: 'SdewanApplication',
    spec: { podSelector: { matchExpressions: [{ key: 'a', operator: 'In', values: [] }] } },
    server: 'In and NotIn need values',
  },
  'two connections of one name': {
    kind: 'IpsecHost',
    spec: {
      remote: '%any',
      authentication_method: 'psk',
      pre_shared_key: 'x',
      crypto_proposal: ['p1'],
      connections: [
        { name: 'c', conn_type: 'tunnel', mode: 'start' },
        { name: 'c', conn_type: 'transport', mode: 'add' },
      ],
    },
    server: 'each connection needs a name of its own',
  },
};

/** Of each sort that a field can take, and of some that most cannot. */
const VALUES: readonly unknown[] = [
  '',
  'lan1',
  '*',
  '10.0.0.1',
  '!10.0.0.0/8',
  '2001:db8::1 10.0.0.1',
  0,
  1,
  80,
  '80',
  '443',
  '80-90',
  '80 443,9',
  'tcp',
  'tcp udp',
  'icmp',
  6,
  'ACCEPT',
  'MARK',
  'NOTRACK',
  'SNAT',
  'ipv4',
  '0x10/0xff',
  'a b',
  '00:11:22:33:44:55',
  ['10.0.0.1'],
  ['ovn-net1'],
  ['ping'],
  true,
  [{ network: 'ovn-net1', metric: 1, weight: 1 }],
  'eth0',
  '#default',
  '#source',
  '#10.0.0.1',
  'DNAT',
  'MASQUERADE',
  'default',
  'cnf',
  '10.0.0.0/8',
  'aes256gcm16',
  'sha256',
  'modp3072',
  'psk',
  'pubkey',
  '%any',
  'O=us, CN=*.example.com',
  's3cret',
  { name: 'vpn', key: 'psk' },
  ['p1'],
  [{ name: 'c-1', conn_type: 'tunnel', mode: 'start', crypto_proposal: ['p1'], if_id: 7 }],
  { matchLabels: { 'example.org/app': 'web' } },
  { matchExpressions: [{ key: 'tier', operator: 'NotIn', values: ['a', ''] }] },
  'api.example.com',
  'Hub',
  'Device',
];

const shapeOf = ({ spec }: KindDefinition): Readonly<Record<string, z.ZodType>> => {
  if (!(spec instanceof z.ZodObject)) throw new Error('a spec is an object');
  return spec.shape;
};

const sampleSchema = z.object({
  kind: z.string(),
  metadata: z.object({ name: z.string() }),
  spec: z.unknown(),
});

describe('the CRDs', () => {
  it("accept CRs as ICN's platform has them, of every kind", async () => {
    const samples = parseAllDocuments(readFileSync(ICN_SAMPLES, 'utf8')).map((document) =>
      sampleSchema.parse(document.toJS()),
    );
    const found = new Set(samples.map(({ kind }) => kind));
    // CNFStatus has nothing to ask for.
    expect(kinds.filter(({ kind }) => !found.has(kind) && kind !== 'CNFStatus')).toEqual([]);
    for (const { kind, metadata, spec } of samples)
      expect([kind, await answerTo(kind, metadata.name, spec)]).toEqual([kind, 'accepted']);
  });

  /** What the API server says of each case. */
  let answers: Map<string, string>;

  beforeAll(async () => {
    answers = new Map();
    for (const [sentence, { kind, name = 'case', spec }] of Object.entries(cases)) {
      answers.set(sentence, await answerTo(kind, name, spec));
    }
  });

  it.each(Object.entries(cases))(
    'judge like our own code: %s',
    (sentence, { kind, name, spec, server, agent }) => {
      expect(answers.get(sentence)).toContain(server);

      const definition = kindNamed(kind);
      const checked = checkSpec(definition, spec);
      const problem =
        checkMetadata(definition, ruleOf(kind, name ?? 'x', spec)) ??
        ('problem' in checked ? checked.problem : undefined);
      const isRefused = agent !== undefined || server !== 'accepted';
      expect(problem === undefined).toBe(!isRefused);
      expect(problem?.message ?? '').toContain(agent ?? '');
    },
  );

  it.each(kinds.map(({ kind }) => kind))(
    'accept all that our own code accepts: %s',
    async (kind) => {
      const definition = kindNamed(kind);
      const specs = fc.record(
        Object.fromEntries(
          Object.entries(shapeOf(definition)).map(([field, schema]) => {
            const fitting = VALUES.filter((value) => schema.safeParse(value).success);
            return [field, fc.constantFrom(...(fitting.length > 0 ? fitting : VALUES))];
          }),
        ),
        { requiredKeys: [], noNullPrototype: true },
      );
      const good = fc
        .sample(specs, 2_000)
        .filter((spec) => 'spec' in checkSpec(definition, spec))
        .slice(0, 50);
      expect(good.length).toBeGreaterThan(5);
      for (const spec of good) {
        expect({ spec, answer: await answerTo(kind, 'random', spec) }).toEqual({
          spec,
          answer: 'accepted',
        });
      }
    },
  );

  it('explain each field', async () => {
    const { stdout } = await cluster.kubectl(['explain', 'firewallrule.spec.src_port']);
    expect(stdout).toContain('Source ports; tcp and udp only.');
  });

  it('are known by category and short name, with columns that tell how a rule fares', async () => {
    const rule = ruleOf('FirewallForwarding', 'columns', { src: 'a', dest: 'b' });
    const metadata = { name: 'columns', namespace, labels: { sdewanPurpose: 'cnf-1' } };
    await cluster.kubectl(['create', '-f', '-'], { stdin: JSON.stringify({ ...rule, metadata }) });
    const status = {
      inSync: false,
      pods: { live: 2, applied: 1, summary: '1/2' },
      message: 'a pod lacks it',
      appliedTime: '2026-01-01T00:00:00Z',
      appliedGeneration: 1,
      state: 'Trying to apply',
      conditions: [
        {
          type: 'Ready',
          status: 'False',
          reason: 'Outdated',
          message: 'x',
          observedGeneration: 1,
          lastTransitionTime: '2026-01-01T00:00:00Z',
        },
      ],
    };
    await cluster.kubectl([
      '-n',
      namespace,
      'patch',
      'fwf',
      'columns',
      '--subresource=status',
      '--type=merge',
      '-p',
      JSON.stringify({ status }),
    ]);
    const { stdout } = await cluster.kubectl(['-n', namespace, 'get', 'sdewan', '-o', 'wide']);
    expect(stdout).toMatch(/NAME +PURPOSE +APPLIED +IN SYNC +AGE +MESSAGE/);
    expect(stdout).toMatch(/columns +cnf-1 +1\/2 +false +\S+ +a pod lacks it/);
  });

  it('exist for all kinds', async () => {
    const { stdout } = await cluster.kubectl([
      'api-resources',
      '--categories=sdewan',
      '-o',
      'name',
    ]);
    expect(stdout.trim().split('\n').sort()).toEqual(
      kinds.map(({ plural, group }) => `${plural}.${group}`).sort(),
    );
  });
});
