/**
 * The configuration files of the node's daemons, as text. Every setting beyond the plainly needed
 * has its reason here.
 */
import {
  CLUSTER_DOMAIN,
  CONTAINERD_SOCKET,
  CONTAINERD_STATE,
  KUBELET_HEALTH_PORT,
  KUBELET_PORT,
  OTHER_CNI,
  PAUSE_IMAGE,
  type NodeFiles,
} from './files.ts';
import type { Subnets } from './subnets.ts';

/** The plugin that gives pods their extra interfaces: the node helper under this name. */
export const EXTRA_INTERFACES_PLUGIN = 'extra-interfaces';
/** Nodus names a CNF's networks here. */
const EXTRA_INTERFACES_ANNOTATION = 'k8s.plugin.opnfv.org/nfn-network';

export type Snapshotter = 'overlayfs' | 'native';

export const containerdConfig = (
  files: NodeFiles,
  runcPath: string,
  snapshotter: Snapshotter,
): string => {
  const text = JSON.stringify; // what TOML calls a basic string
  const runtime = (handler: string, settings = '') =>
    `[plugins."io.containerd.grpc.v1.cri".containerd.runtimes.${handler}]
      runtime_type = "io.containerd.runc.v2"${settings}
      [plugins."io.containerd.grpc.v1.cri".containerd.runtimes.${handler}.options]
        BinaryName = ${text(runcPath)}
        SystemdCgroup = false # the node has no systemd`;
  const otherCni = `\n      cni_conf_dir = ${text(files.otherCniConfigs)}`;
  return `version = 2
root = ${text(files.containerdRoot)}
state = ${text(CONTAINERD_STATE)}
# Snapshotters that probe this machine's disks, and a plugin that makes /opt/containerd.
disabled_plugins = ["io.containerd.snapshotter.v1.btrfs", "io.containerd.snapshotter.v1.zfs", "io.containerd.snapshotter.v1.aufs", "io.containerd.snapshotter.v1.devmapper", "io.containerd.internal.v1.opt"]
[grpc]
  address = ${text(CONTAINERD_SOCKET)}
[plugins."io.containerd.grpc.v1.cri"]
  sandbox_image = ${text(PAUSE_IMAGE)}
  disable_apparmor = true # the profile would have to be loaded into this machine
  restrict_oom_score_adj = true # without CAP_SYS_RESOURCE no pod could start otherwise
  [plugins."io.containerd.grpc.v1.cri".containerd]
    snapshotter = ${text(snapshotter)}
    default_runtime_name = "runc"
    ${runtime('runc')}
    ${runtime(OTHER_CNI, otherCni)}
  [plugins."io.containerd.grpc.v1.cri".cni]
    bin_dir = ${text(files.cniPlugins)}
    conf_dir = ${text(files.cniConfigs)}
`;
};

/**
 * A routed link per pod, as kind has it: a bridge would need br_netfilter for Services between its
 * pods.
 */
export const cniConfig = ({ pods, gateway }: Subnets): string =>
  JSON.stringify({
    cniVersion: '0.4.0',
    name: 'kind-test-harness',
    plugins: [
      {
        type: 'ptp',
        ipMasq: false,
        ipam: {
          type: 'host-local',
          ranges: [[{ subnet: pods, gateway }]],
          routes: [{ dst: '0.0.0.0/0' }],
        },
      },
      {
        type: EXTRA_INTERFACES_PLUGIN,
        annotation: EXTRA_INTERFACES_ANNOTATION,
        capabilities: { 'io.kubernetes.cri.pod-annotations': true },
      },
    ],
  });

export const kubeletConfig = (files: NodeFiles, subnets: Subnets, cgroup: string): string =>
  JSON.stringify({
    apiVersion: 'kubelet.config.k8s.io/v1beta1',
    kind: 'KubeletConfiguration',
    address: subnets.nodeAddress,
    port: KUBELET_PORT,
    readOnlyPort: 0,
    healthzBindAddress: subnets.nodeAddress,
    healthzPort: KUBELET_HEALTH_PORT,
    containerRuntimeEndpoint: `unix://${CONTAINERD_SOCKET}`,
    cgroupDriver: 'cgroupfs',
    cgroupRoot: `/${cgroup}`,
    failCgroupV1: false, // deprecated, and all that some machines have
    failSwapOn: false,
    enforceNodeAllocatable: ['pods'],
    authentication: {
      anonymous: { enabled: false },
      webhook: { enabled: false },
      x509: { clientCAFile: `${files.certificates}/ca.crt` },
    },
    authorization: { mode: 'AlwaysAllow' }, // of those whose certificate is ours
    resolvConf: files.resolvConf,
    clusterDNS: [subnets.nodeAddress],
    clusterDomain: CLUSTER_DOMAIN,
    rotateCertificates: false,
    // Images cannot be fetched again, and this machine's disk may be rather full.
    imageGCHighThresholdPercent: 100,
    evictionHard: {
      'memory.available': '100Mi',
      'nodefs.available': '1%',
      'imagefs.available': '1%',
    },
    nodeStatusUpdateFrequency: '4s',
    // Tests kill containers twice: the second time a real node waits for ten seconds, the third for
    // twenty.
    crashLoopBackOff: { maxContainerRestartPeriod: '2s' },
  });

/** Names of the cluster only: there is no way out to ask for others. */
export const corefile = (files: NodeFiles, subnets: Subnets): string =>
  `. {
  bind ${subnets.nodeAddress}
  errors
  cache 5
  kubernetes ${CLUSTER_DOMAIN} {
    kubeconfig ${files.kubeconfig('cluster-dns')}
  }
}
`;
