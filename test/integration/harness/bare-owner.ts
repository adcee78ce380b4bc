/**
 * A program that keeps up a control plane without any node and prints its kubeconfig: an existing
 * cluster.
 */
import { launchControlPlane } from '../../kind-test-harness/src/control-plane/launch.ts';
import { choosePrograms } from '../../kind-test-harness/src/control-plane/programs.ts';
import { createGuardedDirectory } from '../../kind-test-harness/src/guardian/start.ts';

const { id, directory } = await createGuardedDirectory();
const programs = await choosePrograms({ say: () => {} });
const { kubeconfig } = await launchControlPlane({ programs, directory, clusterId: id });
process.stdout.write(`${JSON.stringify({ directory, env: { KUBECONFIG: kubeconfig } })}\n`);
setInterval(() => {}, 60_000);
