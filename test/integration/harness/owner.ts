/** A program that starts a cluster of its own, prints the variables to join it, and keeps it up: for tests that kill it. */
import { startCluster } from 'kind-test-harness';

const cluster = await startCluster({ renewTokensAfterMs: 1500 });
process.stdout.write(`${JSON.stringify(cluster.env)}\n`);
setInterval(() => {}, 60_000);
