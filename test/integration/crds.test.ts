/**
 * The generated CRDs on a real API server, which refuses some constructs only when it runs them.
 */
import { checkMetadata, checkSpec } from '#shared/compile/check.ts';
import { ruleOf } from '#shared/compile/testing.ts';
import { kindOf, kinds } from '#shared/resources/registry.ts';
import { createKubeClient, type KubeClient } from '#shared/kube/client.ts';
import { loadKubeConfig } from '#shared/kube/config.ts';
import type { KindDefinition } from '#shared/resources/kind.ts';
import * as fc from 'fast-check';
import { connectCluster, type Cluster } from 'kind-test-harness';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import * as z from 'zod';
import { allSamples, samplesOf } from '../samples/all.ts';
import { applyCrds } from './support/crds.ts';

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
  sentence: string;
  kind: string;
  name: string;
  spec: unknown;
  /** What the API server says, or `accepted`. */
  server: string;
  /** Our own code's words, where only it can tell. */
  agent: string | undefined;
};

/** All samples of all kinds: what is rendered and what is accepted, then what is refused. */
const cases: readonly Case[] = allSamples.flatMap(
  ({ kind, ofIcn, rendered, accepted, refused }) => {
    const good = { kind, server: 'accepted', agent: undefined };
    return [
      ...ofIcn.map((one) => ({
        ...good,
        ...one,
        sentence: `${one.name}, as ICN's platform has it`,
      })),
      ...rendered.map((one) => ({ ...good, ...one, sentence: one.name })),
      ...Object.entries(accepted).map(([sentence, one]) => ({
        name: 'case',
        ...good,
        ...one,
        sentence,
      })),
      ...Object.entries(refused).map(([sentence, { server = 'accepted', agent, ...one }]) => ({
        name: 'case',
        ...one,
        kind,
        server,
        agent,
        sentence,
      })),
    ];
  },
);

/** One of each sort that a field can take, and of some that most cannot. */
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

describe('the CRDs', () => {
  it("have samples of every kind, and of what ICN's platform has", () => {
    const ofIcn = new Set(allSamples.flatMap(({ kind, ofIcn: own }) => own.map(() => kind)));
    const lacking = kinds.filter(
      ({ kind, icn, generates }) => (icn ?? generates) && !ofIcn.has(kind),
    );
    expect(lacking.map(({ kind }) => kind)).toEqual([]);
    expect(kinds.map(({ kind }) => samplesOf(kind).kind)).toEqual(kinds.map(({ kind }) => kind));
  });

  /** What the API server says of each case. */
  let answers: Map<Case, string>;

  beforeAll(async () => {
    answers = new Map();
    for (const one of cases) answers.set(one, await answerTo(one.kind, one.name, one.spec));
  });

  it.each(cases)('judge like our own code: $kind: $sentence', (one) => {
    const { kind, name, spec, server, agent } = one;
    expect(answers.get(one)).toContain(server);

    const definition = kindNamed(kind);
    const checked = checkSpec(definition, spec);
    const problem =
      checkMetadata(definition, ruleOf(kind, name, spec)) ??
      ('problem' in checked ? checked.problem : undefined);
    const isRefused = agent !== undefined || server !== 'accepted';
    expect(problem === undefined).toBe(!isRefused);
    expect(problem?.message ?? '').toContain(agent ?? '');
  });

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

  it.each<[string, object, string]>([
    ['another number of addresses', { addresses: ['10.0.0.1', '10.0.0.2'] }, 'spec.addresses'],
    ['another interval', { advertInterval: 2 }, 'spec.advertInterval'],
    ['the default as it is written', { advertInterval: '1' }, 'accepted'],
    ['another address', { addresses: ['10.0.0.2'] }, 'accepted'],
    ['another virtual router', { virtualRouterId: 7 }, 'spec.virtualRouterId'],
    ['adverts to other addresses', { peers: 'multicast' }, 'spec.peers'],
    ['adverts to the same addresses', { peers: 'auto' }, 'accepted'],
  ])('say of a VirtualAddress with %s whether it can change so', async (_what, spec, expected) => {
    const name = 'live';
    const live = { network: 'ovn-net1', addresses: ['10.0.0.1'] };
    const metadata = { name, namespace, labels: { sdewanPurpose: 'cnf-1' } };
    const object = { ...ruleOf('VirtualAddress', name, live), metadata };
    await cluster.kubectl(['apply', '-f', '-'], { stdin: JSON.stringify(object) });
    const patch = ['patch', 'vip', name, '--type=merge', '-p', JSON.stringify({ spec })];
    const answer = await cluster.kubectl(['-n', namespace, ...patch, '--dry-run=server']).then(
      () => 'accepted',
      (error: unknown) => String(error),
    );
    expect(answer).toContain(expected);
    const isRefused = expected !== 'accepted';
    expect(answer.includes('make a new one with another virtualRouterId')).toBe(isRefused);
  });

  it('explain each field', async () => {
    const { stdout } = await cluster.kubectl(['explain', 'firewallrule.spec.src_port']);
    expect(stdout).toContain('Source ports; tcp and udp only.');
  });

  it('are known by category and short name, with columns that show the state of a rule', async () => {
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
    expect(stdout).toMatch(/NAME +PURPOSE +APPLIED +IN SYNC +REASON +AGE +MESSAGE/);
    expect(stdout).toMatch(/columns +cnf-1 +1\/2 +false +Outdated +\S+ +a pod lacks it/);
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
