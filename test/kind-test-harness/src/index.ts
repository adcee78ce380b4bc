export type { Cluster, ClusterOptions, ImageProcess, KubectlResult } from './types.ts';
