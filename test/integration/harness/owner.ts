/**
 * A program that starts a cluster of its own, prints the variables to join it, and keeps it up: for
 * tests that kill it.
 */
import { dirname } from 'node:path';
import { startCluster } from 'kind-test-harness';

const cluster = await startCluster({ renewTokensAfterMs: 1500 });
const directory = dirname(cluster.logsDirectory);
process.stdout.write(`${JSON.stringify({ directory, env: cluster.env })}\n`);
process.on('SIGTERM', () => void cluster.stop().then(() => process.exit(0)));
setInterval(() => {}, 60_000);
