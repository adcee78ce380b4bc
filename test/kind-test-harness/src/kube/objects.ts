/** The parts of Kubernetes objects that the process kubelet reads and writes. */

export type ObjectMeta = {
  name: string;
  namespace: string;
  uid: string;
  resourceVersion?: string;
  generation?: number;
  labels?: Record<string, string>;
  annotations?: Record<string, string>;
  /** RFC 3339, as every time here. */
  creationTimestamp?: string;
  deletionTimestamp?: string;
  deletionGracePeriodSeconds?: number;
};

export type KubeObject = { metadata: ObjectMeta };

export type KeySelector = { name: string; key: string; optional?: boolean };

export type EnvVar = {
  name: string;
  value?: string;
  valueFrom?: {
    fieldRef?: { fieldPath: string };
    resourceFieldRef?: { resource: string; containerName?: string; divisor?: string };
    configMapKeyRef?: KeySelector;
    secretKeyRef?: KeySelector;
  };
};

export type EnvFromSource = {
  prefix?: string;
  configMapRef?: { name: string; optional?: boolean };
  secretRef?: { name: string; optional?: boolean };
};

export type VolumeMount = {
  name: string;
  mountPath: string;
  subPath?: string;
  subPathExpr?: string;
  readOnly?: boolean;
};

export type HttpGetAction = {
  path?: string;
  port: number | string;
  host?: string;
  scheme?: 'HTTP' | 'HTTPS';
  httpHeaders?: { name: string; value: string }[];
};

export type Handler = {
  exec?: { command: string[] };
  httpGet?: HttpGetAction;
  tcpSocket?: { port: number | string; host?: string };
  sleep?: { seconds: number };
};

/** As the API server stores it: defaults are filled in. Times are seconds. */
export type Probe = Handler & {
  grpc?: { port: number };
  initialDelaySeconds?: number;
  periodSeconds: number;
  timeoutSeconds: number;
  successThreshold: number;
  failureThreshold: number;
  terminationGracePeriodSeconds?: number;
};

export type Container = {
  name: string;
  image: string;
  command?: string[];
  args?: string[];
  workingDir?: string;
  env?: EnvVar[];
  envFrom?: EnvFromSource[];
  ports?: { name?: string; containerPort: number }[];
  volumeMounts?: VolumeMount[];
  /** On init containers, `Always` makes a native sidecar. */
  restartPolicy?: string;
  startupProbe?: Probe;
  readinessProbe?: Probe;
  livenessProbe?: Probe;
  lifecycle?: { postStart?: Handler; preStop?: Handler };
  terminationMessagePath?: string;
};

export type KeyToPath = { key: string; path: string; mode?: number };
export type DownwardApiItem = {
  path: string;
  mode?: number;
  fieldRef?: { fieldPath: string };
  resourceFieldRef?: { resource: string; containerName?: string };
};

export type ProjectedSource = {
  serviceAccountToken?: { audience?: string; expirationSeconds?: number; path: string };
  configMap?: { name: string; items?: KeyToPath[]; optional?: boolean };
  secret?: { name: string; items?: KeyToPath[]; optional?: boolean };
  downwardAPI?: { items?: DownwardApiItem[] };
};

export type Volume = {
  name: string;
  emptyDir?: { medium?: string; sizeLimit?: string };
  configMap?: { name: string; items?: KeyToPath[]; optional?: boolean; defaultMode?: number };
  secret?: { secretName: string; items?: KeyToPath[]; optional?: boolean; defaultMode?: number };
  downwardAPI?: { items?: DownwardApiItem[]; defaultMode?: number };
  projected?: { sources?: ProjectedSource[]; defaultMode?: number };
  hostPath?: { path: string; type?: string };
};

export type PodSpec = {
  nodeName?: string;
  serviceAccountName?: string;
  restartPolicy?: 'Always' | 'OnFailure' | 'Never';
  terminationGracePeriodSeconds?: number;
  initContainers?: Container[];
  containers: Container[];
  volumes?: Volume[];
  readinessGates?: { conditionType: string }[];
};

export type ContainerStateStatus = {
  waiting?: { reason: string; message?: string };
  running?: { startedAt: string };
  terminated?: {
    exitCode: number;
    reason: string;
    message?: string;
    startedAt: string;
    finishedAt: string;
    containerID: string;
  };
};

export type ContainerStatus = {
  name: string;
  image: string;
  imageID: string;
  containerID?: string;
  state: ContainerStateStatus;
  lastState: ContainerStateStatus;
  ready: boolean;
  started: boolean;
  restartCount: number;
};

export type PodCondition = {
  type: string;
  status: 'True' | 'False' | 'Unknown';
  lastTransitionTime?: string;
  reason?: string;
  message?: string;
  observedGeneration?: number;
};

export type PodStatus = {
  phase?: string;
  observedGeneration?: number;
  conditions?: PodCondition[];
  hostIP?: string;
  hostIPs?: { ip: string }[];
  podIP?: string;
  podIPs?: { ip: string }[];
  startTime?: string;
  initContainerStatuses?: ContainerStatus[];
  containerStatuses?: ContainerStatus[];
};

export type Pod = KubeObject & { spec: PodSpec; status?: PodStatus };

export type ConfigMap = KubeObject & {
  data?: Record<string, string>;
  binaryData?: Record<string, string>;
};
/** Values are base64. */
export type Secret = KubeObject & { data?: Record<string, string> };
