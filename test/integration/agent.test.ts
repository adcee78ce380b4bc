/**
 * The agent between a real API server and the simulator: rules applied with kubectl, the truth read
 * from OpenWRT's files.
 */
import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { connectCluster, type Cluster } from 'kind-test-harness';
import { afterEach, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { startAgent, type TestAgent } from './support/agent.ts';
import { startCoordinator, type ListeningCoordinator } from './support/coordinator.ts';
import { startOpenwrt, type TestOpenwrt } from '../contract/agent/support/openwrt.ts';
import { applyCrds } from './support/crds.ts';

let cluster: Cluster;
let namespace: string;
let openwrt: TestOpenwrt;
let coordinator: ListeningCoordinator;
let agent: TestAgent | undefined;

beforeAll(async () => {
  cluster = await connectCluster();
  await applyCrds(cluster);
});

beforeEach(async () => {
  namespace = await cluster.createNamespace('agent');
  openwrt = await startOpenwrt({ time: 'real' });
  coordinator = await startCoordinator();
});

afterEach(async () => {
  await agent?.stop();
  agent = undefined;
  await coordinator.stop();
  await openwrt.stop();
});

const start = async (): Promise<void> => {
  agent = await startAgent({
    openwrt,
    coordinatorUrl: coordinator.url,
    kubeconfig: cluster.kubeconfig,
    namespace,
  });
};

const apply = (...objects: object[]) =>
  cluster.kubectl(['apply', '-f', '-'], {
    stdin: objects.map((o) => JSON.stringify(o)).join('\n---\n'),
  });

const cr = (kind: string, name: string, spec: object, metadata: object = {}): object => ({
  apiVersion: 'batch.sdewan.akraino.org/v1alpha1',
  kind,
  metadata: { name, namespace, labels: { sdewanPurpose: 'cnf-1' }, ...metadata },
  spec,
});

const names = (): (string | undefined)[] =>
  openwrt
    .sections('firewall')
    .map(({ name }) => name)
    .filter((name) => name?.startsWith('sdewan_'));

describe('agent', () => {
  it('applies a rule to OpenWRT, reports it, changes it and removes it', async () => {
    await start();
    await apply(cr('FirewallZone', 'lan1', { network: ['ovn-net1'], input: 'ACCEPT' }));
    await apply(
      cr('FirewallRule', 'reject-80', {
        src: 'lan1',
        dest_port: 80,
        proto: 'tcp',
        target: 'REJECT',
      }),
    );
    await expect.poll(() => coordinator.stateOf('reject-80')).toBe('Applied');
    expect(names()).toEqual(['sdewan_zone_lan1', 'sdewan_rule_reject_80']);
    expect(existsSync(join(agent?.stateDir ?? '', 'ready'))).toBe(true);

    await apply(
      cr('FirewallRule', 'reject-80', {
        src: 'lan1',
        dest_port: 81,
        proto: 'tcp',
        target: 'REJECT',
      }),
    );
    await expect.poll(() => openwrt.text('firewall')).toContain("option dest_port '81'");

    await cluster.kubectl(['-n', namespace, 'delete', 'firewallrule', 'reject-80']);
    await expect.poll(names).toEqual(['sdewan_zone_lan1']);
  });

  it('reports once which comments its first write has removed, over restarts of the agent', async () => {
    const told = () => coordinator.reports.flatMap(({ commentsLost = [] }) => commentsLost);
    openwrt.write('firewall', `# by order\n${openwrt.text('firewall')}`);
    await start();
    await apply(cr('FirewallZone', 'lan1', { network: ['ovn-net1'], input: 'ACCEPT' }));
    await expect.poll(told).toEqual(['firewall']);
    expect(openwrt.text('firewall')).not.toContain('by order');
    // It repeats a report without an answer; before the next one it has received that answer.
    const { length: answered } = coordinator.reports;
    await expect.poll(() => coordinator.reports.length).toBeGreaterThan(answered);
    await agent?.stop();
    coordinator.forget();
    openwrt.write('firewall', `# by order\n${openwrt.text('firewall')}`);
    await start();
    await apply(cr('FirewallZone', 'lan2', { network: ['ovn-net2'], input: 'ACCEPT' }));
    await expect.poll(() => coordinator.stateOf('lan2')).toBe('Applied');
    const { length } = coordinator.reports;
    await expect.poll(() => coordinator.reports.length).toBeGreaterThan(length + 1);
    expect(openwrt.text('firewall')).not.toContain('by order');
    expect(told()).toEqual(['firewall']);
  });

  it('reports once when a change has come to OpenWRT, and nothing of what it found at its start', async () => {
    const told = () => coordinator.reports.flatMap(({ times = [] }) => times);
    await apply(cr('FirewallZone', 'lan1', { network: ['ovn-net1'], input: 'ACCEPT' }));
    await start();
    await expect.poll(() => coordinator.stateOf('lan1')).toBe('Applied');
    const before = Date.now();
    await apply(cr('FirewallZone', 'lan2', { network: ['ovn-net2'], input: 'ACCEPT' }));
    await expect.poll(() => told().length).toBe(1);
    await apply(cr('FirewallZone', 'lan2', { network: ['ovn-net2'], input: 'DROP' }));
    await expect.poll(() => told().length).toBe(2);
    const [made, changed] = told();
    expect([made?.generation, changed?.generation]).toEqual([1, 2]);
    expect(changed?.uid).toBe(made?.uid);
    for (const { seenAt, begunAt, compiledAt, appliedAt } of told()) {
      const times = [before, seenAt, begunAt, compiledAt, appliedAt, Date.now()];
      expect(times).toEqual(times.toSorted((a, b) => a - b));
    }
  });
});
