/**
 * The whole product with a real OpenWRT as the container of a CNF's pod, and real packets: what CRs
 * and NetworkPolicies say is in the kernel of the pod's network, decides there as `sdewan trace
 * --live` says, is there again in a new pod, and goes with the CRs.
 */
import { mkdtemp, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import * as z from 'zod';
import { buildDeviceImage, whyNoDeviceImage } from '../../../deploy/images/device.ts';
import { apply, remove, waitForPods, waitGone, waitInSync } from '../../../stack/operator.ts';
import { policiesIn } from '../../../stack/policies.ts';
import { inAnyOrder, rule, type Rule } from '../../../stack/rules.ts';
import { sdewan } from '../../../stack/sdewan.ts';
import { nodeCluster, PURPOSE } from '../cluster.ts';
import { measured } from '../figures.ts';
import { createEdge, type Edge } from './edge.ts';

const because = whyNoDeviceImage();
if (because !== undefined)
  console.warn(`cannot run: a real OpenWRT in a pod of a real node, since ${because}`);

const SETTLES = { timeout: 300_000, interval: 500 };
const POLICY = 'only-friends';

const branch = z.object({
  outcome: z.object({ verdict: z.string() }),
  stages: z.array(z.object({ stage: z.string(), decidedBy: z.string() })),
});
const liveTrace = z.object({
  pods: z.array(
    z.object({
      agree: z.boolean().optional(),
      kernel: z.object({ branches: z.array(branch) }).optional(),
    }),
  ),
});

const nameIn = (rule: string): string => rule.split('/')[1] ?? '';

describe.skipIf(because !== undefined)('a real OpenWRT in a pod of a real node', async () => {
  const cluster = await nodeCluster();
  let edge: Edge;
  let rules: Rule[] = [];
  let policies: ReturnType<typeof policiesIn>;

  beforeAll(async () => {
    await cluster.loadImages([await buildDeviceImage()]);
    edge = await measured('a CNF that is a real OpenWRT, ready', () => createEdge(cluster));
    policies = policiesIn(cluster, edge.namespace);
    const toServer = { src: 'branch', dest: 'uplink', proto: 'tcp', dest_ip: edge.server };
    rules = [
      inAnyOrder(rule('FirewallZone', 'branch', { network: ['ovn-net1'], input: 'DROP' })),
      inAnyOrder(rule('FirewallZone', 'uplink', { network: ['ovn-net2'], input: 'DROP' })),
      rule('FirewallForwarding', 'out', { src: 'branch', dest: 'uplink' }),
      rule('FirewallRule', 'no-81', { ...toServer, dest_port: '81', target: 'REJECT' }),
      rule('FirewallRule', 'no-82', { ...toServer, dest_port: '82', target: 'DROP' }),
      rule('FirewallDNAT', 'web', {
        ...toServer,
        src_dip: edge.cnf,
        src_dport: '8080',
        dest_port: '80',
      }),
      ...edge.routes,
    ];
    await apply(cluster, edge.namespace, ...rules);
  });
  afterAll(() => edge.close());

  /** Rules of firewall4, by the words that it gives to what it makes of a section. */
  const NAMED = ['out', 'no-81', 'no-82', 'web'];
  const inKernel = async (): Promise<string[]> => {
    const listed = await edge.onCnf(['nft', 'list', 'table', 'inet', 'fw4']);
    return NAMED.filter((name) => listed.includes(`"!fw4: ${name}"`));
  };
  const hasPolicy = async (): Promise<boolean> => {
    const listed = await edge.onCnf(['nft', 'list', 'ruleset']);
    return listed.includes(policies.chainOf(POLICY));
  };

  const liveTraceOf = async (destination: string, port: number) => {
    const live = ['trace', PURPOSE, '-n', edge.namespace, '--live', '-o', 'json'];
    const packet = ['--in', 'ovn-net1', '--src', edge.client, '--dst', destination];
    const { out, said } = await sdewan(cluster, ...live, ...packet, '--dport', String(port));
    if (out === '') throw new Error(said);
    const { pods } = liveTrace.parse(JSON.parse(out));
    const branches = pods.flatMap(({ kernel }) => kernel?.branches ?? []);
    return {
      agree: pods.every(({ agree }) => agree === true),
      verdicts: branches.map(({ outcome }) => outcome.verdict),
      deciders: branches
        .flatMap(({ stages }) => stages.map(({ decidedBy }) => decidedBy))
        .filter((decider) => NAMED.includes(nameIn(decider))),
    };
  };

  it('rules that are applied are in sync, and in the kernel of the pod', async () => {
    await waitInSync(cluster, edge.namespace, rules);
    expect(await inKernel()).toEqual(NAMED);
    const routes = await edge.onCnf(['ip', 'route']);
    expect(routes).toContain(`${edge.server} via ${edge.serverGateway} dev net2`);
  });

  it.each([
    [80, 'server', 'answered', 'accepted', ['FirewallForwarding/out']],
    [81, 'server', 'ECONNREFUSED', 'rejected', ['FirewallRule/no-81']],
    [82, 'server', 'ETIMEDOUT', 'dropped', ['FirewallRule/no-82']],
    [8080, 'cnf', 'answered', 'accepted', ['FirewallDNAT/web', 'FirewallForwarding/out']],
  ] as const)(
    'answers a connection to port %i of the %s with %s: %s by the rules that trace --live names, and by no others',
    async (port, to, ends, verdict, by) => {
      expect(await edge.send(edge[to], port)).toBe(ends);
      const met = await edge.metBy(edge[to], port);
      expect(met.filter((name) => NAMED.includes(name))).toEqual(by.map(nameIn));
      // Routes that are new are known to it when the agent has reported them.
      await expect
        .poll(() => liveTraceOf(edge[to], port), SETTLES)
        .toEqual({ agree: true, verdicts: [verdict], deciders: by });
    },
  );

  it('enforces a NetworkPolicy, as trace says, and lets pass a pod that gets the label', async () => {
    await apply(cluster, edge.namespace, {
      apiVersion: 'networking.k8s.io/v1',
      kind: 'NetworkPolicy',
      metadata: { name: POLICY },
      spec: {
        podSelector: { matchLabels: { role: 'server' } },
        ingress: [{ from: [{ podSelector: { matchLabels: { friend: 'yes' } } }] }],
      },
    });
    await expect.poll(() => policies.isEnforced(POLICY), SETTLES).toBe(true);
    expect(await hasPolicy()).toBe(true);
    const ends = ['client', 'server'].map((pod) => `${edge.namespace}/${pod}`);
    const [from = '', to = ''] = ends;
    const trace = () => sdewan(cluster, 'trace', '--from', from, '--to', to, '--dport', '80');

    expect(await edge.send(edge.server, 80)).toBe('ETIMEDOUT');
    expect(await trace()).toMatchObject({ code: 1, out: expect.stringContaining(POLICY) });

    await policies.relabel('client', 'friend=yes');
    await expect.poll(() => edge.send(edge.server, 80), SETTLES).toBe('answered');
    await expect.poll(async () => (await trace()).code, SETTLES).toBe(0);
  });

  it('gives a new pod all of it again', async () => {
    const before = await edge.pod();
    await cluster.kubectl(['delete', 'pod', before, '-n', edge.namespace]);
    await waitForPods(cluster, edge.namespace, PURPOSE, 1);
    expect(await edge.pod()).not.toBe(before);
    expect(await inKernel()).toEqual(NAMED);
    await expect.poll(hasPolicy, SETTLES).toBe(true);
    await edge.connect();
    await expect.poll(() => edge.send(edge.server, 80), SETTLES).toBe('answered');
    expect(await edge.send(edge.server, 81)).toBe('ECONNREFUSED');
    await waitInSync(cluster, edge.namespace, rules);
  });

  it('status, check and support-bundle find nothing wrong', async () => {
    const { code, out } = await sdewan(cluster, 'status', '-n', edge.namespace);
    expect({ code, out }).toEqual({ code: 0, out: expect.stringContaining('1/1    8/8') });

    const check = await sdewan(cluster, 'check');
    const doubts = check.out.split('\n').filter((line) => /^[^✓ ]/.test(line));
    // Images of tests have no version.
    expect(doubts).toEqual(['? versions']);

    const folder = await mkdtemp(path.join(tmpdir(), 'sdewan-openwrt-'));
    try {
      const to = path.join(folder, 'bundle');
      await sdewan(cluster, 'support-bundle', '-n', edge.namespace, '--output-directory', to);
      const contents = await readFile(path.join(to, 'contents.txt'), 'utf8');
      const pod = `pods/${edge.namespace}/${await edge.pod()}`;
      for (const file of ['sdewan-agent.log', 'inspect.json', 'kernel.txt', 'metrics.txt'])
        expect(contents).toContain(`${pod}/${file} `);
      const kernel = await readFile(path.join(to, pod, 'kernel.txt'), 'utf8');
      expect(kernel).toContain('"!fw4: no-81"');
    } finally {
      await rm(folder, { recursive: true, force: true });
    }
  });

  it('removes from the kernel what is deleted before it is gone from Kubernetes', async () => {
    await cluster.kubectl(['delete', 'netpol', POLICY, '-n', edge.namespace]);
    await remove(cluster, edge.namespace, ...rules);
    await waitGone(cluster, edge.namespace, rules);
    expect(await inKernel()).toEqual([]);
    await expect.poll(hasPolicy, SETTLES).toBe(false);
    const routes = await edge.onCnf(['ip', 'route']);
    expect(routes).not.toContain(edge.serverGateway);
  });
});
