export { buildGoProgram, findCachedBuild, type GoProgram } from './go-build.ts';
export { CLUSTER_VARIABLE } from './cluster.ts';
export { prepareNodePrograms } from './node/programs.ts';
export { whyNoNode } from './node/requirements.ts';
export { installCommand, installPackages, mayInstall } from './packages.ts';
export { isRunning } from './processes.ts';
export { connectCluster, startCluster } from './start.ts';
export type { ClusterApi } from './kube/api.ts';
export type { KubeObject } from './kube/objects.ts';
export { BACKENDS } from './types.ts';
export type {
  Backend,
  Cluster,
  ClusterOptions,
  ContainerTarget,
  ControlPlaneProgram,
  ImageProcess,
  KubectlResult,
  PodTarget,
  RealNode,
} from './types.ts';
export { writeImageArchive, type ImageArchive, type ImageEntry } from './image-archive.ts';
