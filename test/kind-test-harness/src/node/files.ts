/**
 * Where a node's files are: in its run directory, which its guard removes, and on paths inside that
 * are the node's own.
 */
import { join } from 'node:path';

/** As the seed's CNF Deployment selects it. */
export const NODE_NAME = 'ubuntu18';
export const PAUSE_IMAGE = 'kind-test-harness.local/pause:1';
export const CLUSTER_DOMAIN = 'cluster.local';

/** Inside: /run is the node's own. */
export const CONTAINERD_SOCKET = '/run/containerd/containerd.sock';
export const CONTAINERD_STATE = '/run/containerd';
export const KUBELET_PORT = 10_250;
export const KUBELET_HEALTH_PORT = 10_248;

/** A runtime handler: its pods are attached by a plugin that came later. */
export const OTHER_CNI = 'other-cni';

export type NodeFiles = {
  containerdConfig: string;
  containerdRoot: string;
  cniConfigs: string;
  /** How the pods' own network is made: the one file of `cniConfigs`. */
  podNetwork: string;
  /** For pods with the runtime handler `OTHER_CNI`. */
  otherCniConfigs: string;
  cniPlugins: string;
  kubeletConfig: string;
  /** The kubelet's root directory as this machine sees it; inside it is /var/lib/kubelet. */
  kubelet: string;
  /** Name servers that pods with dnsPolicy Default get: none. */
  resolvConf: string;
  corefile: string;
  certificates: string;
  kubeconfig: (user: DaemonUser) => string;
};

/** The daemons' identities at the API server, and their groups. */
export const DAEMON_USERS = {
  kubelet: `system:node:${NODE_NAME}/system:nodes`,
  'kube-proxy': 'system:kube-proxy',
  'cluster-dns': 'cluster-dns/system:masters',
  /** How the API server shows itself to the kubelet. */
  apiserver: 'kube-apiserver/system:masters',
} as const;
export type DaemonUser = keyof typeof DAEMON_USERS;

export const nodeFiles = (runDirectory: string): NodeFiles => ({
  containerdConfig: join(runDirectory, 'containerd.toml'),
  containerdRoot: join(runDirectory, 'containerd'),
  cniConfigs: join(runDirectory, 'cni-configs'),
  podNetwork: join(runDirectory, 'cni-configs', '10-pods.conflist'),
  otherCniConfigs: join(runDirectory, 'other-cni-configs'),
  cniPlugins: join(runDirectory, 'cni-plugins'),
  kubeletConfig: join(runDirectory, 'kubelet.json'),
  kubelet: join(runDirectory, 'kubelet'),
  resolvConf: join(runDirectory, 'resolv.conf'),
  corefile: join(runDirectory, 'Corefile'),
  certificates: join(runDirectory, 'certificates'),
  kubeconfig: (user) => join(runDirectory, `${user}.kubeconfig`),
});
