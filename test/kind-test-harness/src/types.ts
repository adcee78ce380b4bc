/** What a test, the demo or a benchmark gets of a cluster, whatever kind of node runs its pods. */

export type ImageProcess = {
  /** The program on this machine that stands for the image's entrypoint, absolute, with leading arguments. */
  command: readonly string[];
  /** Added below the container's own env. */
  env?: Readonly<Record<string, string>>;
  /**
   * Ports below 1024 that the image listens on, mapped to free ones for a process without root: the process finds
   * `PORT_<n>` in its env, and probes and URLs to port n of the pod go to the mapped one.
   */
  ports?: Readonly<Record<number, number>>;
};

export type ClusterOptions = {
  /** Images that the process kubelet can run, by full name as pod specs say it. */
  images?: Readonly<Record<string, ImageProcess>>;
  /** Called with each line of progress (control-plane build, start). Default: prints to stderr when it takes longer than 2 s. */
  onProgress?: (line: string) => void;
  signal?: AbortSignal;
};

export type KubectlResult = { stdout: string; stderr: string; code: number };

export type Cluster = {
  /** Path of a kubeconfig of its own with admin rights; `~/.kube/config` is never touched. */
  kubeconfig: string;
  /** `https://127.0.0.1:port` */
  server: string;
  backend: 'process' | 'node' | 'kind';
  /** Registers more images after the start. */
  registerImages: (images: Readonly<Record<string, ImageProcess>>) => void;
  /** Runs the real kubectl against this cluster. Rejects on a non-zero exit unless `allowFailure`. */
  kubectl: (
    args: readonly string[],
    options?: { stdin?: string; allowFailure?: boolean; timeoutMs?: number },
  ) => Promise<KubectlResult>;
  /** Creates a namespace with a fresh name that begins with `prefix`. */
  createNamespace: (prefix: string) => Promise<string>;
  /** Folder with a log per container: `<namespace>/<pod>/<container>.log`. */
  logsDirectory: string;
  /** Folder that holds a pod's emptyDir and other volumes on this machine (process backend): for tests that look inside. */
  podDirectory: (namespace: string, pod: string) => string;
  /** Sends a signal to a container's process, as `crictl`-like faults do. Process backend. */
  killContainer: (
    target: { namespace: string; pod: string; container: string },
    signal: NodeJS.Signals,
  ) => Promise<void>;
  /** Stops everything that was started and removes what lies on disk. Idempotent. */
  stop: () => Promise<void>;
};
