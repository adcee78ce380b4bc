/**
 * What the coordinator makes of other things, in a cluster of its own: the coordinators of other
 * files look at all namespaces, and would make the same rules, with another DNS.
 */
import { startCluster, type Cluster } from 'kind-test-harness';
import { afterAll, beforeAll, vi } from 'vitest';
import { createFixture, type Fixture } from '../coordinator/fixture.ts';
import { childrenSuite } from './children.ts';
import { startDnsServer, type DnsServer } from './dns-server.ts';
import { servicesSuite } from './services.ts';

/**
 * Starts of coordinators and the garbage collector are part of some, on a machine that does much
 * else.
 */
vi.setConfig({ testTimeout: 180_000 });

let cluster: Cluster;
let dns: DnsServer;
let fixture: Fixture;

beforeAll(async () => {
  [cluster, dns] = await Promise.all([startCluster({ backend: 'process' }), startDnsServer()]);
  fixture = await createFixture({
    cluster,
    env: {
      SDEWAN_EXPOSE_ZONE: 'wan',
      SDEWAN_DNS_SERVERS: dns.address,
      SDEWAN_DNS_MIN_TTL_MS: '500',
    },
  });
});
afterAll(async () => {
  await fixture.close();
  dns.close();
  await cluster.stop();
});

// The garbage collector learns of new kinds every 30 s only: what needs it comes last.
servicesSuite(() => fixture);
childrenSuite(
  () => fixture,
  () => dns,
);
