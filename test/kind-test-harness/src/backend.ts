/**
 * The one interface behind which every kind of node stands. The rest of the harness does not depend
 * on what runs the pods.
 */
import type { ImageStore } from './images.ts';
import type { ClusterRecord } from './record.ts';
import type { Backend, Cluster } from './types.ts';

export type BackendContext = {
  /**
   * Mark of the cluster: goes as `KTH_CLUSTER_ID` into the environment of every process that the
   * backend starts.
   */
  clusterId: string;
  /**
   * The cluster's folder; it goes, with every marked process, when the harness ends in whatever
   * way.
   */
  directory: string;
  logsDirectory: string;
  images: ImageStore;
  imageArchives: readonly string[];
  /** The state of the process backend. */
  apiServerArguments: readonly string[];
  /** Options of the process backend. */
  nodes: number;
  renewTokensAfterMs?: number | undefined;
  env: NodeJS.ProcessEnv;
  say: (line: string) => void;
  signal?: AbortSignal | undefined;
};

export type RunningBackend = {
  kubeconfig: string;
  server: string;
  /** Starts kubectl, without its arguments. */
  kubectlCommand: readonly string[];
  /** Where the control plane came from and why, for people. */
  reason: string;
  /**
   * Undoes, in an orderly stop, what the guardian can't know of: neither marked processes nor files
   * in the folder.
   */
  stop: () => Promise<void>;
};

/** How to reach into what runs: the part of a Cluster that differs by backend. */
export type NodeAccess = Pick<
  Cluster,
  'podDirectory' | 'killContainer' | 'readFile' | 'exec' | 'loadImages' | 'node'
>;

export type ClusterBackend = {
  name: Backend;
  start: (context: BackendContext) => Promise<RunningBackend>;
  /** Made from the record alone, since test workers in other processes need it too. */
  access: (record: ClusterRecord) => NodeAccess;
};
