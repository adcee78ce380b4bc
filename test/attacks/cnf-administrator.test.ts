/**
 * The administrator of one CNF, root on its OpenWRT: what he changes of ours is repaired, what he makes himself stays, no other CNF sees any of it, and
 * whatever he has his OpenWRT say does not make the agent's reports grow without bound.
 */
import { connectCluster, type Cluster } from 'kind-test-harness';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { startOpenwrt, type TestOpenwrt } from '../contract/agent/support/openwrt.ts';
import { startAgent, type TestAgent } from '../integration/support/agent.ts';
import { startCoordinator, type ListeningCoordinator } from '../integration/support/coordinator.ts';
import { applyCrds } from '../integration/support/crds.ts';
import { eventually } from '../integration/coordinator/eventually.ts';

const PURPOSES = ['cnf-1', 'cnf-2'];
/** What it may say about an OpenWRT has 16 KiB, and here there is one rule. */
const LARGEST_REPORT = 24_576;

type Cnf = { openwrt: TestOpenwrt; coordinator: ListeningCoordinator; agent: TestAgent };

let cluster: Cluster;
let namespace: string;
let cnfs: Cnf[];
beforeAll(async () => {
  cluster = await connectCluster();
  await applyCrds(cluster);
  namespace = await cluster.createNamespace('administrator');
  const rules = PURPOSES.map((purpose) => ({
    apiVersion: 'batch.sdewan.akraino.org/v1alpha1',
    kind: 'FirewallZone',
    metadata: { name: `lan-${purpose}`, namespace, labels: { sdewanPurpose: purpose } },
    spec: { network: ['ovn-net1'], input: 'DROP' },
  }));
  await cluster.kubectl(['apply', '-f', '-'], {
    stdin: rules.map((each) => JSON.stringify(each)).join('\n---\n'),
  });
  cnfs = await Promise.all(
    PURPOSES.map(async (purpose) => {
      const openwrt = await startOpenwrt({ time: 'real' });
      const coordinator = await startCoordinator();
      const { kubeconfig } = cluster;
      const agent = await startAgent({
        openwrt,
        coordinatorUrl: coordinator.url,
        kubeconfig,
        namespace,
        purpose,
      });
      return { openwrt, coordinator, agent };
    }),
  );
});
afterAll(async () => {
  for (const { agent, coordinator, openwrt } of cnfs) {
    await agent.stop();
    await coordinator.stop();
    await openwrt.stop();
  }
});

const both = (): [his: Cnf, other: Cnf] => {
  const [his, other] = cnfs;
  if (!his || !other) throw new Error('two CNFs are needed');
  return [his, other];
};

it('each CNF has its rule', async () => {
  for (const [at, purpose] of PURPOSES.entries())
    await eventually(() => cnfs[at]?.coordinator.stateOf(`lan-${purpose}`)).toBe('Applied');
});

it('what he changes of ours is repaired, his own stays, and the other CNF is as it was', async () => {
  const [his, other] = both();
  const before = other.openwrt.text('firewall');
  const mine = "config zone 'mine'\n\toption name 'mine'\n\toption input 'ACCEPT'\n";
  his.openwrt.write(
    'firewall',
    `${his.openwrt.text('firewall').replace("option input 'DROP'", "option input 'ACCEPT'")}\n${mine}`,
  );
  expect(his.openwrt.text('firewall')).not.toContain("option input 'DROP'");
  await eventually(() => his.openwrt.text('firewall')).toContain("option input 'DROP'");
  expect(his.openwrt.text('firewall')).toContain("config zone 'mine'");
  his.openwrt.write(
    'firewall',
    his.openwrt.text('firewall').replace(/config zone 'sdewan_[\s\S]*?(?=\nconfig |$)/, ''),
  );
  expect(his.openwrt.text('firewall')).not.toContain('sdewan_');
  await eventually(() => his.openwrt.text('firewall')).toContain("option input 'DROP'");
  expect(other.openwrt.text('firewall')).toBe(before);
});

it('whatever his OpenWRT says, a report stays as small as the coordinator takes it', async () => {
  const [his, other] = both();
  const remotes = Array.from({ length: 2_000 }, (_, at) => {
    const name = `r${at}`.padEnd(200, 'x');
    return `config remote '${name}'\n\toption enabled '1'\n\tlist tunnel '${name}'\n`;
  });
  his.openwrt.write('ipsec', `${his.openwrt.text('ipsec')}\n${remotes.join('\n')}`);
  await eventually(() => his.coordinator.information()?.tunnels.length ?? 0).toBeGreaterThan(0);
  const sizes = his.coordinator.reports.map((report) => JSON.stringify(report).length);
  console.log(`largest report: ${Math.max(...sizes)} B`);
  expect(Math.max(...sizes)).toBeLessThan(LARGEST_REPORT);
  expect(his.coordinator.stateOf('lan-cnf-1')).toBe('Applied');
  expect(other.coordinator.stateOf('lan-cnf-2')).toBe('Applied');
});
