/**
 * The agent's state folder is read-only, or full, while it runs or when it starts: a real file
 * system of its own, so root alone can try it.
 */
import { execFileSync } from 'node:child_process';
import { appendFileSync, mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { connectCluster, type Cluster } from 'kind-test-harness';
import { afterEach, beforeAll, beforeEach, describe, expect, it, vi } from 'vitest';
import { startOpenwrt, type TestOpenwrt } from '../contract/agent/support/openwrt.ts';
import { startAgent, type TestAgent } from './support/agent.ts';
import { startCoordinator, type ListeningCoordinator } from './support/coordinator.ts';
import { applyCrds } from './support/crds.ts';

const isRoot = process.getuid?.() === 0;

let cluster: Cluster;
let namespace: string;
let openwrt: TestOpenwrt;
let coordinator: ListeningCoordinator;
let agent: TestAgent;
let folder: string;

beforeAll(async () => {
  cluster = await connectCluster();
  await applyCrds(cluster);
});

const mount = (...args: string[]): unknown => execFileSync('mount', args, { stdio: 'pipe' });
/**
 * A file system does not turn read-only while a file of it is open for writing, and the agent may
 * be writing one.
 */
const remount = (mode: 'ro' | 'rw'): Promise<unknown> =>
  vi.waitFor(() => mount('-o', `remount,${mode}`, folder), { timeout: 300_000, interval: 20 });
const ballast = (): string => join(folder, 'ballast');
let filling: NodeJS.Timeout | undefined;
/** Until it is emptied: a file of the agent that is replaced leaves room again. */
const fill = (): void => {
  const more = (): void => {
    try {
      appendFileSync(ballast(), Buffer.alloc(1_048_576));
    } catch {
      // As much as there is room for.
    }
  };
  more();
  filling = setInterval(more, 10);
};
const empty = (): void => {
  clearInterval(filling);
  writeFileSync(ballast(), '');
};

describe.runIf(isRoot)('a state folder', () => {
  beforeEach(async () => {
    namespace = await cluster.createNamespace('state');
    openwrt = await startOpenwrt({ time: 'real' });
    coordinator = await startCoordinator();
    folder = join(openwrt.folder, 'state');
    mkdirSync(folder);
    mount('-t', 'tmpfs', '-o', 'size=256k', 'tmpfs', folder);
  });
  afterEach(async () => {
    clearInterval(filling);
    await agent.stop().catch(() => undefined);
    execFileSync('umount', ['--lazy', folder]);
    await coordinator.stop();
    await openwrt.stop();
  });

  const start = async (): Promise<void> => {
    const { url: coordinatorUrl } = coordinator;
    const { kubeconfig } = cluster;
    agent = await startAgent({ openwrt, coordinatorUrl, kubeconfig, namespace });
  };
  const zone = (name: string, network: string): Promise<unknown> =>
    cluster.kubectl(['apply', '-f', '-'], {
      stdin: JSON.stringify({
        apiVersion: 'batch.sdewan.akraino.org/v1alpha1',
        kind: 'FirewallZone',
        metadata: { name, namespace, labels: { sdewanPurpose: 'cnf-1' } },
        spec: { network: [network], input: 'ACCEPT' },
      }),
    });
  const messageOf = (name: string): string | undefined =>
    coordinator.rules().find((rule) => rule.name === name)?.message;

  it.each([
    ['read-only', () => remount('ro'), () => remount('rw'), 'EROFS: read-only file system'],
    ['full', async () => fill(), async () => empty(), 'ENOSPC: no space left'],
  ])(
    'is named when it turns %s, ends nothing, and rules are applied afterwards',
    async (_how, spoil, mend, cause) => {
      await start();
      await zone('lan1', 'ovn-net1');
      await expect.poll(() => coordinator.stateOf('lan1')).toBe('Applied');
      await spoil();
      await zone('lan2', 'ovn-net2');
      await expect
        .poll(() => messageOf('lan2'))
        .toContain(`in its state folder ${folder}: ${cause}`);
      expect(coordinator.stateOf('lan1')).toBe('Applied');
      const said = (): string | undefined => coordinator.reports.at(-1)?.stateFolder;
      await expect.poll(said).toContain(cause);
      expect(openwrt.text('firewall')).not.toContain('lan2');
      await mend();
      await expect.poll(() => coordinator.stateOf('lan2')).toBe('Applied');
      await expect.poll(said).toBeUndefined();
      await agent.stop();
    },
  );

  it('is named when it is read-only as the agent starts, and so it is in its last words', async () => {
    writeFileSync(join(folder, 'alive'), 'of an earlier run');
    await remount('ro');
    await start();
    await zone('lan1', 'ovn-net1');
    const cause = `in its state folder ${folder}: EROFS: read-only file system`;
    await expect.poll(() => messageOf('lan1')).toContain(cause);
    await expect(agent.stop()).rejects.toThrow(cause);
  });
});
