/** The cluster that global-setup.ts started for the whole suite, with the product installed. */
import { connectCluster, type Cluster } from 'kind-test-harness';
import { withOwnNamespaces } from '../stack/own-namespaces.ts';

/** To be called in `describe`: namespaces made with it go at its end. */
export const e2eCluster = async (): Promise<Cluster> => withOwnNamespaces(await connectCluster());
