/** A CNF that ICN's controller configured, taken over by an agent on a real API server. The passes themselves: test/contract/agent/adoption.test.ts. */
import { connectCluster } from 'kind-test-harness';
import { afterEach, beforeEach, expect, it } from 'vitest';
import { configureAll, configuredTexts } from '../contract/agent/support/configured-by-icn.ts';
import { called, lastEntry, writesSince } from '../contract/agent/support/icn.ts';
import { startOpenwrt, type TestOpenwrt } from '../contract/agent/support/openwrt.ts';
import { readUci } from '../judge/uci.ts';
import { startAgent } from './support/agent.ts';
import { startCoordinator } from './support/coordinator.ts';
import { applyCrds } from './support/crds.ts';

let openwrt: TestOpenwrt;

beforeEach(async () => {
  openwrt = await startOpenwrt({ time: 'real' });
});
afterEach(() => openwrt.stop());

it('an agent names sections in their places while all is as the CRs say, then changes one in place, then removes it', async () => {
  const cluster = await connectCluster();
  await applyCrds(cluster);
  const namespace = await cluster.createNamespace('adoption');
  const rules = await configureAll(openwrt);
  const [before, mark] = [configuredTexts(openwrt), lastEntry(openwrt)];
  const coordinator = await startCoordinator();
  const objects = rules.map(({ kind, apiVersion, metadata, spec }) => {
    const { name, finalizers, labels } = metadata;
    return { apiVersion, kind, metadata: { name, namespace, finalizers, labels }, spec };
  });
  const list = { apiVersion: 'v1', kind: 'List', items: objects };
  await cluster.kubectl(['apply', '-f', '-'], { stdin: JSON.stringify(list) });
  const { kubeconfig } = cluster;
  const running = await startAgent({
    openwrt,
    coordinatorUrl: coordinator.url,
    kubeconfig,
    namespace,
  });
  const SOON = { timeout: 60_000 };
  try {
    const firewall = () => openwrt.sections('firewall');
    const states = () => rules.map(({ metadata }) => coordinator.stateOf(metadata.name));
    await expect.poll(states, SOON).toEqual(rules.map(() => 'Applied'));
    const { firewall: named = '', ...others } = configuredTexts(openwrt);
    expect({ ...others, firewall: before['firewall'] }).toEqual(before);
    const contents = (text = '') => readUci(text).map(({ type, options }) => [type, options]);
    expect(contents(named)).toEqual(contents(before['firewall']));
    expect(writesSince(openwrt, mark).map((write) => write.package)).toEqual(['firewall']);
    expect(openwrt.simulator.reloads()).toEqual({});

    const patch = JSON.stringify({ spec: { dest_port: '8080' } });
    await cluster.kubectl([
      '-n',
      namespace,
      'patch',
      'firewallrule',
      'reject-80',
      '--type=merge',
      '-p',
      patch,
    ]);
    await expect
      .poll(() => called(firewall(), 'reject-80')[0]?.options['dest_port'], SOON)
      .toBe('8080');
    expect(firewall().map(({ name }) => name)).toEqual(readUci(named).map(({ name }) => name));

    await cluster.kubectl(['-n', namespace, 'delete', 'firewallrule', 'reject-80', '--wait=false']);
    await expect.poll(() => coordinator.stateOf('reject-80'), SOON).toBe('Removed');
    expect(called(firewall(), 'reject-80')).toEqual([]);
    const lost = writesSince(openwrt, mark).filter(
      (write) =>
        write.package === 'firewall' && called(readUci(write.text), 'zz-last').length !== 1,
    );
    expect(lost).toEqual([]);
  } finally {
    await running.stop();
    await coordinator.stop();
  }
});
