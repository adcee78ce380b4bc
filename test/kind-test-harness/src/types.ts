/** What a test, the demo or a benchmark gets of a cluster, whatever kind of node runs its pods. */
import type { ClusterApi } from './kube/api.ts';

export type ImageProcess = {
  /**
   * The program on this machine that stands for the image's entrypoint, absolute, with leading
   * arguments.
   */
  command: readonly string[];
  /**
   * By the `command` of a pod spec, joined by blanks: what stands for other programs of the image.
   */
  programs?: Readonly<Record<string, readonly string[]>>;
  /** Added below the container's own env. */
  env?: Readonly<Record<string, string>>;
  /**
   * Folders of the image's own that the program writes: they lie in the container's root folder, as
   * mounts do.
   */
  directories?: readonly string[];
  /**
   * Ports below 1024 that the image listens on, mapped to free ones for a process without root: the
   * process finds `PORT_<n>` in its env, and probes and URLs to port n of the pod go to the mapped
   * one.
   */
  ports?: Readonly<Record<number, number>>;
};

export const BACKENDS = ['process', 'node'] as const;
export type Backend = (typeof BACKENDS)[number];

export type ClusterOptions = {
  /** What runs the pods; default `process`. */
  backend?: Backend;
  /**
   * Images in files (docker-archive), for the backends that run real containers. More can come by
   * `loadImages`.
   */
  imageArchives?: readonly string[];
  /** Images that the process kubelet can run, by full name as pod specs say it. */
  images?: Readonly<Record<string, ImageProcess>>;
  /**
   * How many nodes the process backend registers; the pods of all of them are processes of this
   * machine. Default: 1.
   */
  nodes?: number;
  /** Further arguments of the API server; of the process backend. */
  apiServerArguments?: readonly string[];
  /**
   * For tests of token renewal: the process kubelet renews tokens at this age. Default: 80 % of
   * their lifetime.
   */
  renewTokensAfterMs?: number;
  /**
   * Called with each line of progress (control-plane build, start). Default: prints to stderr when
   * it takes longer than 2 s.
   */
  onProgress?: (line: string) => void;
  signal?: AbortSignal;
};

export type KubectlResult = { stdout: string; stderr: string; code: number };

export type PodTarget = { namespace: string; pod: string };
export type ContainerTarget = PodTarget & { container: string };

/** What only a real node can do; absent on the process backend. */
export type RealNode = {
  /**
   * An address of this machine that pods reach: a server that a test binds to it is there for
   * agents and webhooks.
   */
  hostAddress: string;
  /**
   * Runs a program of this machine in the pod's network namespace, as root: for firewall rules that
   * cut the pod off.
   */
  inPodNetwork: (target: PodTarget, argv: readonly string[]) => Promise<KubectlResult>;
  /**
   * Puts a CNI plugin on the node, for pods whose RuntimeClass has the handler `other-cni`.
   * `configuration`: its list of plugins, which may delegate to `pods`, those of all other pods.
   */
  addCniPlugin: (program: string, configuration: (pods: object) => object) => Promise<void>;
  /** SIGKILLs a daemon of the node and leaves it down; its pods keep running. */
  stopDaemon: (name: 'kubelet' | 'containerd') => Promise<void>;
  /** Resolves when the daemon answers again. */
  startDaemon: (name: 'kubelet' | 'containerd') => Promise<void>;
  /**
   * The container's control-group directory on this machine; with version 1, that of one
   * controller.
   */
  cgroup: (target: ContainerTarget, controller: 'memory' | 'cpu' | 'cpuacct') => Promise<string>;
};

export type ControlPlaneProgram =
  | 'etcd'
  | 'kube-apiserver'
  | 'kube-controller-manager'
  | 'kube-scheduler';

export type Cluster = {
  /** Path of a kubeconfig of its own with admin rights; `~/.kube/config` is never touched. */
  kubeconfig: string;
  /** `https://address:port`, on loopback unless a real node must reach it. */
  server: string;
  backend: Backend;
  /** Present on the backend `node`. */
  node?: RealNode;
  /** Where the control plane came from and why, for people. */
  reason: string;
  /**
   * For the environment of child processes and test workers, so that their `connectCluster()` finds
   * this cluster.
   */
  env: Readonly<Record<string, string>>;
  /**
   * The command line that starts kubectl, without its arguments; it wants `KUBECONFIG` to be set.
   */
  kubectlCommand: readonly string[];
  /** Registers more images after the start. */
  registerImages: (images: Readonly<Record<string, ImageProcess>>) => void;
  /** Loads image archives into the node. Nothing to do on the process backend. */
  loadImages: (archives: readonly string[]) => Promise<void>;
  /** Reads and watches without kubectl. */
  api: ClusterApi;
  /**
   * Runs the real kubectl against this cluster. Rejects on a non-zero exit unless `allowFailure`.
   */
  kubectl: (
    args: readonly string[],
    options?: { stdin?: string; allowFailure?: boolean; timeoutMs?: number },
  ) => Promise<KubectlResult>;
  /** Creates a namespace with a fresh name that begins with `prefix`. */
  createNamespace: (prefix: string) => Promise<string>;
  /**
   * Folder with the containers' logs: `<namespace>/<pod>/<container>.log`, or on a real node as the
   * kubelet lays them out.
   */
  logsDirectory: string;
  /**
   * Folder that holds a pod's emptyDir and other volumes on this machine (process backend): for
   * tests that look inside.
   */
  podDirectory: (namespace: string, pod: string) => string;
  /** Sends a signal to a container's first process, as `crictl`-like faults do. */
  killContainer: (target: ContainerTarget, signal: NodeJS.Signals) => Promise<void>;
  /**
   * A file as the running container sees it. @throws when the container does not run or has no such
   * file.
   */
  readFile: (target: ContainerTarget, path: string) => Promise<string>;
  /** Runs a program in the running container. Resolves whatever its exit code is. */
  exec: (target: ContainerTarget, argv: readonly string[]) => Promise<KubectlResult>;
  /**
   * Sends a signal to a program of the control plane: SIGSTOP freezes it (SIGCONT wakes it),
   * SIGKILL ends it, and it is started again a second later with the same data and ports. @throws
   * on an existing cluster.
   */
  signalControlPlane: (program: ControlPlaneProgram, signal: NodeJS.Signals) => Promise<void>;
  /**
   * Stops everything that was started and removes what lies on disk. Idempotent; who only joined
   * ends only its own connections.
   */
  stop: () => Promise<void>;
};
