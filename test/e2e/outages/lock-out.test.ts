/**
 * Commit-confirm of an agent in front of a real API server, by a proxy that drops all packets while OpenWRT holds the culprit. What is
 * judged is read from OpenWRT's files and from the agent's reports.
 */
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import type { Cluster } from 'kind-test-harness';
import { afterEach, beforeAll, beforeEach, describe, expect, it, vi } from 'vitest';
import { loadKubeConfig } from '#shared/kube/config.ts';
import { TcpProxy } from '../../faults/tcp-proxy.ts';
import { startOpenwrt, type TestOpenwrt } from '../../contract/agent/support/openwrt.ts';
import { startAgent, type TestAgent } from '../../integration/support/agent.ts';
import {
  startCoordinator,
  type ListeningCoordinator,
} from '../../integration/support/coordinator.ts';
import { e2eCluster } from '../cluster.ts';

const LOOK_MS = 20;
const WITHIN = { timeout: 40_000, interval: 100 };

let cluster: Cluster;
let server: string;
let namespace: string;
let openwrt: TestOpenwrt;
let coordinator: ListeningCoordinator;
let proxy: TcpProxy;
let agent: TestAgent | undefined;
let cutting: NodeJS.Timeout;

const names = (): string[] =>
  openwrt
    .sections('firewall')
    .flatMap(({ name = '' }) =>
      name.startsWith('sdewan_rule_') ? [name.replace('sdewan_rule_', '')] : [],
    );
const isCut = (): boolean => openwrt.text('firewall').includes('culprit');

beforeAll(async () => {
  ({ server } = await loadKubeConfig({ kubeconfig: cluster.kubeconfig }));
});

beforeEach(async () => {
  namespace = await cluster.createNamespace('lock-out');
  openwrt = await startOpenwrt({ time: 'real' });
  coordinator = await startCoordinator();
  proxy = await TcpProxy.start(server);
  cutting = setInterval(() => proxy.setDropping(isCut()), LOOK_MS);
});

afterEach(async () => {
  clearInterval(cutting);
  proxy.setDropping(false);
  await agent?.stop();
  agent = undefined;
  await proxy.stop();
  await coordinator.stop();
  await openwrt.stop();
});

const start = async (): Promise<void> => {
  const text = readFileSync(cluster.kubeconfig, 'utf8');
  const kubeconfig = join(openwrt.folder, 'kubeconfig');
  writeFileSync(kubeconfig, text.replaceAll(server, `https://127.0.0.1:${proxy.port}`));
  agent = await startAgent({
    openwrt,
    coordinatorUrl: coordinator.url,
    kubeconfig,
    namespace,
    env: { SDEWAN_COMMIT_CONFIRM: '10' },
  });
};

const cr = (kind: string, name: string, spec: object): object => ({
  apiVersion: 'batch.sdewan.akraino.org/v1alpha1',
  kind,
  metadata: { name, namespace, labels: { sdewanPurpose: 'cnf-1' } },
  spec,
});
const zone = (): object => cr('FirewallZone', 'lan1', { network: ['ovn-net1'] });
const rule = (name: string, target: string): object =>
  cr('FirewallRule', name, { src: 'lan1', proto: 'tcp', dest_port: '80', target });
const apply = (...objects: object[]): Promise<unknown> =>
  cluster.kubectl(['apply', '-f', '-'], {
    stdin: objects.map((one) => JSON.stringify(one)).join('\n---\n'),
  });
const found = async (): Promise<void> => {
  await vi.waitFor(() => {
    expect(coordinator.stateOf('culprit')).toBe('Failed: LostConnectivity');
    expect(coordinator.stateOf('a')).toBe('Applied');
    expect(coordinator.stateOf('b')).toBe('Applied');
    expect(names()).toEqual(['a', 'b']);
  }, WITHIN);
};

describe('a rule that cuts the agent off from a real API server', async () => {
  cluster = await e2eCluster();

  it('is undone, found and named; the others are applied, and it is tried again when it changes', async () => {
    await start();
    await apply(zone(), rule('a', 'DROP'), rule('culprit', 'DROP'), rule('b', 'DROP'));
    await vi.waitFor(() => expect(isCut()).toBe(true), WITHIN);
    await vi.waitFor(() => expect(isCut()).toBe(false), WITHIN);
    await found();
    clearInterval(cutting);
    await apply(rule('culprit', 'ACCEPT'));
    await vi.waitFor(() => expect(coordinator.stateOf('culprit')).toBe('Applied'), WITHIN);
  });

  it('is undone by the next agent, which has nothing but its files', async () => {
    await start();
    await apply(zone(), rule('a', 'DROP'), rule('culprit', 'DROP'), rule('b', 'DROP'));
    await vi.waitFor(() => expect(isCut()).toBe(true), WITHIN);
    await agent?.stop();
    coordinator.forget();
    expect(isCut()).toBe(true);
    await start();
    await vi.waitFor(() => expect(isCut()).toBe(false), WITHIN);
    await found();
  });
});
