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
