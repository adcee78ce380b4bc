/** The cluster that global-setup.ts started for the whole suite, with the product installed. */
import { connectCluster, type Cluster } from 'kind-test-harness';

export const e2eCluster = (): Promise<Cluster> => connectCluster();
