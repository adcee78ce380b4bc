/**
 * What is ours in Neutron bears one prefix, and the cluster's mark: two clusters in one project
 * leave each other's alone. Pure.
 */

const CLUSTER_DIGITS = 8;

/** `clusterUid`: of something that lives as long as the cluster. */
export const clusterMark = (clusterUid: string): string =>
  clusterUid.replaceAll('-', '').slice(0, CLUSTER_DIGITS);

export const prefixOf = (cluster: string): string => `sdewan/${cluster}/`;
