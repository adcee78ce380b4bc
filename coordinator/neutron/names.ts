/**
 * What is ours in Neutron bears one prefix, and the cluster's mark: two clusters in one project
 * leave each other's alone. Pure.
 */

const CLUSTER_DIGITS = 8;

/** `clusterUid`: of something that lives as long as the cluster. */
export const clusterMark = (clusterUid: string): string =>
  clusterUid.replaceAll('-', '').slice(0, CLUSTER_DIGITS);

export const prefixOf = (cluster: string): string => `sdewan/${cluster}/`;
const NETWORK_PORT = 'np/';
const NETWORK_PORT_NAME = new RegExp(`^sdewan/[^/]+/${NETWORK_PORT}`);

/** `uid`: of the NetworkPort. */
export const networkPortName = (cluster: string, uid: string): string =>
  `${prefixOf(cluster)}${NETWORK_PORT}${uid}`;
export const isOfNetworkPort = (name: string): boolean => NETWORK_PORT_NAME.test(name);

const UID = /^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/;

/** That of the NetworkPort; undefined: the port bears another name, and is none of ours. */
export const uidIn = (cluster: string, name: string): string | undefined => {
  const start = networkPortName(cluster, '');
  const uid = name.startsWith(start) ? name.slice(start.length) : '';
  return UID.test(uid) ? uid : undefined;
};
