export { CLUSTER_VARIABLE } from './cluster.ts';
export { connectCluster, startCluster } from './start.ts';
export type {
  Backend,
  Cluster,
  ClusterOptions,
  ContainerTarget,
  ImageProcess,
  KubectlResult,
  PodTarget,
  RealNode,
} from './types.ts';
export { writeImageArchive, type ImageArchive, type ImageEntry } from './image-archive.ts';
