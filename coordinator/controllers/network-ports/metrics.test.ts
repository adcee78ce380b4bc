import { expect, it } from 'vitest';
import { Registry } from '#shared/metrics/prometheus.ts';
import { createPortMetrics } from './metrics.ts';
import { networkObject } from './testing.ts';

it('shows the addresses of each network, and those of too many together', async () => {
  const registry = new Registry();
  const networks = Array.from({ length: 150 }, (_, at) => {
    const { metadata, ...network } = networkObject({}, `net-${at}`);
    const creationTimestamp = new Date(at * 1_000).toISOString();
    const status = { free: 3, claimed: at, resting: 0, foreign: 1 };
    return { ...network, metadata: { ...metadata, creationTimestamp }, status };
  });
  const metrics = createPortMetrics(registry);
  metrics.expose(
    () => networks.toReversed(),
    () => 7,
  );
  const samples = (await registry.metrics()).split('\n');
  const addresses = samples.filter((line) => line.includes('addresses{'));
  expect(addresses).toHaveLength(4 * 101);
  expect(addresses).toContain(
    'sdewan_coordinator_network_addresses{network="net-99",state="claimed"} 99',
  );
  expect(addresses).toContain(
    'sdewan_coordinator_network_addresses{network="other",state="free"} 150',
  );
  expect(samples).toContain('sdewan_coordinator_network_pods_waiting 7');
  networks.length = 1;
  expect(await registry.metrics()).not.toContain('network="other"');
});
