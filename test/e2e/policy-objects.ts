/** Objects that the policies judge, what a test tries with them, and what has to be there before. */
import { rule } from '../stack/rules.ts';

/** Namespaces of the test: in `open`, service account default may read keys. */
export type Places = { closed: string; open: string };
/** Arguments of kubectl, and what it reads. */
export type Attempt = { args: readonly string[]; object?: object };

export const SYSTEM = 'sdewan-system';
export const COORDINATOR = 'sdewan-coordinator';
export const MARK = { 'app.kubernetes.io/managed-by': COORDINATOR };
export const RBAC = 'rbac.authorization.k8s.io';

export const create = (object: object): Attempt => ({ args: ['create', '-f', '-'], object });
export const replace = (object: object): Attempt => ({ args: ['replace', '-f', '-'], object });
export const apply = (object: object): Attempt => ({
  args: [
    'apply',
    '--server-side',
    '--force-conflicts',
    `--field-manager=${COORDINATOR}`,
    '-f',
    '-',
  ],
  object,
});
export const patch = (target: readonly string[], body: object): Attempt => ({
  args: ['patch', ...target, '--type=merge', '-p', JSON.stringify(body)],
});
export const remove = (...target: readonly string[]): Attempt => ({ args: ['delete', ...target] });

export const account = (namespace: string, name = 'cnf'): object => ({
  kind: 'ServiceAccount',
  name,
  namespace,
});
export const binding = (
  namespace: string,
  name: string,
  subjects: readonly object[] = [account(namespace)],
  role: object = {},
): object => ({
  apiVersion: `${RBAC}/v1`,
  kind: 'RoleBinding',
  metadata: { name, namespace },
  roleRef: { apiGroup: RBAC, kind: 'ClusterRole', name, ...role },
  subjects,
});
export const role = (kind: 'Role' | 'ClusterRole', name: string, namespace?: string): object => ({
  apiVersion: `${RBAC}/v1`,
  kind,
  metadata: { name, ...(namespace !== undefined && { namespace }) },
  rules: [],
});
export const configMap = (namespace: string, name: string, content: object): object => ({
  apiVersion: 'v1',
  kind: 'ConfigMap',
  metadata: { name, namespace },
  ...content,
});
export const secret = (namespace: string, name: string, type = 'Opaque'): object => ({
  apiVersion: 'v1',
  kind: 'Secret',
  type,
  metadata: { name, namespace },
});
export const dnat = (namespace: string, name: string, labels: object = {}): object => {
  const spec = { src: 'wan', proto: 'tcp', src_dport: '22', dest_ip: '10.0.0.1' };
  return withMetadata(rule('FirewallDNAT', name, spec), {
    namespace,
    labels: { sdewanPurpose: 'cnf-1', ...labels },
    annotations: { 'sdewan.akraino.org/references': 'off' },
  });
};
export const zone = (namespace: string, name: string, metadata: object = {}): object =>
  withMetadata(rule('FirewallZone', name, { network: ['ovn-net1'] }), { namespace, ...metadata });
export const withMetadata = (
  object: { metadata: object } & Record<string, unknown>,
  metadata: object,
): object => ({ ...object, metadata: { ...object.metadata, ...metadata } });

/** One that is not there: the garbage collector deletes what has no other. */
export const OWNER = {
  apiVersion: 'batch.sdewan.akraino.org/v1alpha1',
  kind: 'CNFService',
  name: 'nobody',
  uid: '00000000-0000-0000-0000-000000000000',
};

export const CA = { data: { 'ca.crt': 'x' } };
/** A CNFDeployment, its purpose and its Deployment. */
export const ROLLED = 'rolled';
/** A pod of no CNF. */
export const STRANGER = 'stranger';
export const OF_THE_TEST = 'policies-of-the-test';

/** A CNF without pods: for it the coordinator keeps what it keeps in the namespaces of CNFs. */
const cnf = (namespace: string): object => ({
  apiVersion: 'apps/v1',
  kind: 'Deployment',
  metadata: { name: 'cnf', namespace, labels: { sdewanPurpose: 'cnf-0' } },
  spec: {
    replicas: 0,
    selector: { matchLabels: { app: 'cnf' } },
    template: {
      metadata: { labels: { app: 'cnf', sdewanPurpose: 'cnf-0' } },
      spec: { serviceAccountName: 'cnf', containers: [{ name: 'openwrt', image: 'none' }] },
    },
  },
});

/** Of service account `tenant`: all that one can do with rules, CNFDeployments, pods and workloads. */
export const tenantsRights = (namespace: string): object[] => [
  {
    ...role('Role', 'tenant', namespace),
    rules: [
      {
        apiGroups: ['batch.sdewan.akraino.org', 'fleet.sdewan.akraino.org'],
        resources: ['*'],
        verbs: ['*'],
      },
      {
        apiGroups: ['', 'apps', 'batch'],
        resources: [
          'pods',
          'pods/status',
          'pods/binding',
          'replicationcontrollers',
          'deployments',
          'replicasets',
          'statefulsets',
          'daemonsets',
          'jobs',
          'cronjobs',
        ],
        verbs: ['*'],
      },
    ],
  },
  binding(namespace, 'tenant', [account(namespace, 'tenant')], { kind: 'Role' }),
];

export const lease = (name: string): object => ({
  apiVersion: 'coordination.k8s.io/v1',
  kind: 'Lease',
  metadata: { name, namespace: SYSTEM },
});

/** Without pods, for want of a node. */
const daemonSet = (namespace: string, name: string, labels: object): object => ({
  apiVersion: 'apps/v1',
  kind: 'DaemonSet',
  metadata: { name, namespace, labels, annotations: { theirs: 'x' } },
  spec: {
    selector: { matchLabels: { app: name } },
    template: {
      metadata: { labels: { app: name, ...labels } },
      spec: {
        serviceAccountName: 'cnf',
        nodeSelector: { none: 'x' },
        containers: [{ name: 'openwrt', image: 'none' }],
      },
    },
  },
});

/** Of it the coordinator makes a Deployment without pods. */
const rolled = (namespace: string): object => {
  const labels = { sdewanPurpose: ROLLED };
  return {
    apiVersion: 'fleet.sdewan.akraino.org/v1alpha1',
    kind: 'CNFDeployment',
    metadata: { name: ROLLED, namespace },
    spec: {
      replicas: 0,
      selector: { matchLabels: labels },
      template: {
        metadata: { labels },
        spec: { serviceAccountName: 'cnf', containers: [{ name: 'openwrt', image: 'none' }] },
      },
    },
  };
};

/** What the coordinator makes for it. */
export const KEPT = [
  `deployment/${ROLLED}`,
  'rolebinding/sdewan-agent',
  'rolebinding/sdewan-agent-keys',
  'configmap/sdewan-coordinator-ca',
];

/** With an agent that never reports, so that no rule of its purpose can go. */
export const SILENT = 'silent';
/** Without an agent, if it has no other, and of no CNF that is there. */
export const barePod = (
  namespace: string,
  name: string,
  { spec = {}, ...metadata }: { spec?: object; [field: string]: object } = {},
): object => ({
  apiVersion: 'v1',
  kind: 'Pod',
  metadata: { name, namespace, labels: { sdewanPurpose: name }, ...metadata },
  spec: { schedulerName: 'nobody', containers: [{ name: 'openwrt', image: 'none' }], ...spec },
});
/** Its binding to a node, which is not stored. kubectl has no dry run for it. */
export const bound = (namespace: string, metadata: object): Attempt => {
  const path = `/api/v1/namespaces/${namespace}/pods/${SILENT}/binding?dryRun=All`;
  return {
    args: ['create', '--raw', path, '-f', '-'],
    object: {
      apiVersion: 'v1',
      kind: 'Binding',
      metadata: { name: SILENT, namespace, ...metadata },
      target: { kind: 'Node', name: 'none' },
    },
  };
};
/** As a kubelet would write it. */
export const SILENT_STATUS = {
  phase: 'Running',
  initContainerStatuses: [
    {
      name: 'sdewan-agent',
      image: 'none',
      imageID: '',
      ready: true,
      restartCount: 0,
      state: { running: { startedAt: null } },
    },
  ],
};

/**
 * What has to be there before anything is tried. The zones `ending` and `held` are then deleted: the one is held by a finalizer of the test,
 * the other by ours.
 */
export const given = ({ closed }: Places): object[] => [
  cnf(closed),
  daemonSet(closed, 'cnf', { sdewanPurpose: 'cnf-9' }),
  daemonSet(closed, 'another', {}),
  role('ClusterRole', OF_THE_TEST),
  binding(closed, 'somebody-elses', [account(closed)], { name: 'view' }),
  configMap(closed, 'somebody-elses', CA),
  dnat(closed, 'theirs'),
  dnat(closed, 'marked', MARK),
  withMetadata(rule('CNFNAT', 'of-icn', { target: 'SNAT', dest: '#source', src_dip: '10.0.0.1' }), {
    namespace: closed,
    labels: { sdewanPurpose: 'cnf-1' },
    annotations: { 'sdewan.akraino.org/references': 'off' },
    finalizers: ['cnfnat.finalizers.sdewan.akraino.org'],
  }),
  zone(closed, 'lan1'),
  zone(closed, 'basic', { labels: { sdewanPurpose: 'cnf-1', 'sdewan-bucket-type': 'basic' } }),
  zone(closed, 'ending', {
    finalizers: ['test.example.org/hold'],
    annotations: { 'sdewan.akraino.org/references': 'off' },
  }),
  barePod(closed, SILENT),
  barePod(closed, STRANGER, { labels: {} }),
  rolled(closed),
  withMetadata(rule('CNFStatus', 'well', {}), { namespace: closed, labels: {} }),
  zone(closed, 'held', { labels: { sdewanPurpose: SILENT } }),
];
