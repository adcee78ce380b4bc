/** The parts of a pod template that injection reads or writes; all else passes untouched. */

export type EnvVar = { name: string; value?: string; valueFrom?: Record<string, unknown> };
export type VolumeMount = {
  name: string;
  mountPath: string;
  subPath?: string;
  readOnly?: boolean;
};
export type Volume = { name: string; [source: string]: unknown };
export type Container = {
  name: string;
  image?: string;
  env?: EnvVar[];
  volumeMounts?: VolumeMount[];
  restartPolicy?: string;
  [other: string]: unknown;
};
export type PodSpec = {
  containers: Container[];
  initContainers?: Container[];
  volumes?: Volume[];
  [other: string]: unknown;
};
export type PodTemplate = {
  metadata?: {
    labels?: Record<string, string>;
    annotations?: Record<string, string>;
    [other: string]: unknown;
  };
  spec: PodSpec;
};
