/** The command lines of the kind backend. Nothing here runs anything. */

/** Prefix of our clusters' names, after which comes the id of the harness's cluster. */
const NAME_PREFIX = 'kth-';
/** As the seed's CNF Deployment selects it. */
const HOSTNAME_LABEL = 'kubernetes.io/hostname=ubuntu18';

export const clusterName = (clusterId: string): string => `${NAME_PREFIX}${clusterId}`;

/** Ids of our clusters among all that `kind get clusters` prints. */
export const ownClusterIds = (printed: string): string[] =>
  printed
    .split('\n')
    .filter((name) => name.startsWith(NAME_PREFIX))
    .map((name) => name.slice(NAME_PREFIX.length));

/** The container that is the node. */
const nodeContainer = (clusterId: string): string => `${clusterName(clusterId)}-control-plane`;

export const COMMANDS = {
  engineAnswers: ['docker', 'version', '--format', '{{.Server.Version}}'],
  kindVersion: ['kind', 'version'],
  list: ['kind', 'get', 'clusters'],
} as const;

export const createCommand = (clusterId: string, kubeconfig: string): string[] => [
  'kind',
  'create',
  'cluster',
  `--name=${clusterName(clusterId)}`,
  `--kubeconfig=${kubeconfig}`,
  '--wait=180s',
];

export const labelCommand = (clusterId: string, kubectl: readonly string[]): string[] => [
  ...kubectl,
  'label',
  'node',
  nodeContainer(clusterId),
  HOSTNAME_LABEL,
  '--overwrite',
];

export const deleteCommand = (clusterId: string): string[] => [
  'kind',
  'delete',
  'cluster',
  `--name=${clusterName(clusterId)}`,
];

export const loadCommand = (clusterId: string, archive: string): string[] => [
  'kind',
  'load',
  'image-archive',
  archive,
  `--name=${clusterName(clusterId)}`,
];

/** `containerId` as pod status has it: `containerd://<id>`. */
export const killCommand = (
  clusterId: string,
  containerId: string,
  signal: NodeJS.Signals,
): string[] => [
  'docker',
  'exec',
  nodeContainer(clusterId),
  'ctr',
  '--namespace=k8s.io',
  'tasks',
  'kill',
  `--signal=${signal}`,
  containerId.replace(/^containerd:\/\//, ''),
];
