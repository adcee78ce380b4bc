/** Starts a node, says where it is, and keeps it until this process is killed. */
import { startCluster } from 'kind-test-harness';

const cluster = await startCluster({ backend: 'node' });
console.log(cluster.env['KIND_TEST_HARNESS_CLUSTER']);
setInterval(() => {}, 60_000);
