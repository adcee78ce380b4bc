/**
 * Objects that the policies judge, what a test tries with them, and what has to be there before.
 */
import * as z from 'zod';
import { rule } from '../stack/rules.ts';

/** Namespaces of the test: in `open`, service account default may read keys. */
export type Places = { closed: string; open: string };
/** A request to the API server, which is to store nothing of it. */
export type Attempt = { method: string; path: string; body?: object; type?: string };

export const SYSTEM = 'sdewan-system';
export const COORDINATOR = 'sdewan-coordinator';
export const MARK = { 'app.kubernetes.io/managed-by': COORDINATOR };
export const RBAC = 'rbac.authorization.k8s.io';

const GROUPS: Readonly<Record<string, string>> = {
  clusterrole: `${RBAC}/v1`,
  cnf: 'fleet.sdewan.akraino.org/v1alpha1',
  cnfdeployment: 'fleet.sdewan.akraino.org/v1alpha1',
  cnfnat: 'batch.sdewan.akraino.org/v1alpha1',
  cnfstatus: 'batch.sdewan.akraino.org/v1alpha1',
  configmap: 'v1',
  daemonset: 'apps/v1',
  deployment: 'apps/v1',
  firewalldnat: 'batch.sdewan.akraino.org/v1alpha1',
  firewallzone: 'batch.sdewan.akraino.org/v1alpha1',
  lease: 'coordination.k8s.io/v1',
  managednetwork: 'network.sdewan.akraino.org/v1alpha1',
  mutatingwebhookconfiguration: 'admissionregistration.k8s.io/v1',
  networkport: 'network.sdewan.akraino.org/v1alpha1',
  pod: 'v1',
  rolebinding: `${RBAC}/v1`,
  secret: 'v1',
  validatingwebhookconfiguration: 'admissionregistration.k8s.io/v1',
};
const pathOf = (apiVersion: string, kind: string, namespace: string | undefined): string => {
  const plural = `${kind.toLowerCase()}${kind.endsWith('s') ? 'es' : 's'}`;
  const root = apiVersion.includes('/') ? '/apis' : '/api';
  return `${root}/${apiVersion}${namespace === undefined ? '' : `/namespaces/${namespace}`}/${plural}`;
};
/** A kind and a name as kubectl takes them, with `-n` and `--subresource=`. */
type Target = readonly string[];
const pathTo = ([kind = '', name = '', ...options]: Target): string => {
  const namespace = options.includes('-n') ? options[options.indexOf('-n') + 1] : undefined;
  const [, subresource] = options.join(' ').split('--subresource=');
  const path = `${pathOf(GROUPS[kind] ?? '', kind, namespace)}/${name}`;
  return subresource === undefined ? path : `${path}/${subresource}`;
};
const objectSchema = z.object({
  apiVersion: z.string(),
  kind: z.string(),
  metadata: z.object({ name: z.string(), namespace: z.string().optional() }),
});
const placeOf = (object: object): { collection: string; name: string } => {
  const { apiVersion, kind, metadata } = objectSchema.parse(object);
  return { collection: pathOf(apiVersion, kind, metadata.namespace), name: metadata.name };
};

export const create = (body: object): Attempt => ({
  method: 'POST',
  path: placeOf(body).collection,
  body,
});
const at = (object: object): string => {
  const { collection, name } = placeOf(object);
  return `${collection}/${name}`;
};
export const replace = (body: object): Attempt => ({ method: 'PUT', path: at(body), body });
export const apply = (body: object): Attempt => ({
  method: 'PATCH',
  path: `${at(body)}?force=true&fieldManager=${COORDINATOR}`,
  body,
  type: 'application/apply-patch+yaml',
});
export const patch = (target: Target, body: object): Attempt => ({
  method: 'PATCH',
  path: pathTo(target),
  body,
  type: `application/${Array.isArray(body) ? 'json' : 'merge'}-patch+json`,
});
export const remove = (...target: Target): Attempt => ({ method: 'DELETE', path: pathTo(target) });

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
export const dnat = (
  namespace: string,
  name: string,
  labels: object = {},
  metadata: object = {},
): object => {
  const spec = { src: 'wan', proto: 'tcp', src_dport: '22', dest_ip: '10.0.0.1' };
  return withMetadata(rule('FirewallDNAT', name, spec), {
    namespace,
    labels: { sdewanPurpose: 'cnf-1', ...labels },
    annotations: { 'sdewan.akraino.org/references': 'off' },
    ...metadata,
  });
};
/** ICN's controller gives it to rules of people, too. */
const ICN = { finalizers: ['cnfnat.finalizers.sdewan.akraino.org'] };
const LAST_APPLIED = 'kubectl.kubernetes.io/last-applied-configuration';
export const nat = (
  namespace: string,
  name: string,
  { labels, annotations, ...metadata }: Record<string, object> = {},
): object =>
  withMetadata(rule('CNFNAT', name, { target: 'SNAT', dest: '#source', src_dip: '10.0.0.1' }), {
    namespace,
    labels: { sdewanPurpose: 'cnf-1', ...labels },
    annotations: { 'sdewan.akraino.org/references': 'off', ...annotations },
    ...metadata,
  });
export const zone = (namespace: string, name: string, metadata: object = {}): object =>
  withMetadata(rule('FirewallZone', name, { network: ['ovn-net1'] }), { namespace, ...metadata });
export const withMetadata = (object: { metadata?: object }, metadata: object): object => ({
  ...object,
  metadata: { ...object.metadata, ...metadata },
});

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

/**
 * Rights of service account `tenant`: all that one can do with rules, CNFDeployments, pods,
 * workloads and managed networks.
 */
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
          'controllerrevisions',
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
  {
    ...role('ClusterRole', TENANT_OF_NETWORKS),
    rules: [{ apiGroups: ['network.sdewan.akraino.org'], resources: ['*'], verbs: ['*'] }],
  },
  {
    apiVersion: `${RBAC}/v1`,
    kind: 'ClusterRoleBinding',
    metadata: { name: TENANT_OF_NETWORKS },
    roleRef: { apiGroup: RBAC, kind: 'ClusterRole', name: TENANT_OF_NETWORKS },
    subjects: [account(namespace, 'tenant')],
  },
];
export const TENANT_OF_NETWORKS = 'policies-tenant';

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

/** The coordinator makes a Deployment without pods of it. */
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
  spec: { schedulerName: 'none', containers: [{ name: 'openwrt', image: 'none' }], ...spec },
});
/** A pod that has an address of `NETWORK`, and one that waits for another for ever. */
export const HOLDER = 'holder';
export const WAITING = 'waiting';
export const NETWORK = 'policies';
/** What the coordinator makes for it. */
export const PORT = `${NETWORK}-10`;
const asking = (namespace: string, name: string, entry: object = {}): object => {
  const list = { interface: [{ name: NETWORK, interface: 'net0', ...entry }] };
  return barePod(namespace, name, {
    labels: {},
    annotations: { 'k8s.plugin.opnfv.org/nfn-network': JSON.stringify(list) },
    spec: { schedulingGates: [{ name: 'network.sdewan.akraino.org/ports' }] },
  });
};
const network = (namespace: string): object => ({
  apiVersion: 'network.sdewan.akraino.org/v1alpha1',
  kind: 'ManagedNetwork',
  metadata: { name: NETWORK },
  spec: {
    provider: 'static',
    names: [NETWORK],
    subnets: [{ cidr: '10.254.0.0/24', ranges: ['10.254.0.10-10.254.0.11'] }],
    namespaces: [namespace],
  },
});
/** Its binding to a node. */
export const bound = (namespace: string, metadata: object): Attempt => ({
  method: 'POST',
  path: `/api/v1/namespaces/${namespace}/pods/${SILENT}/binding`,
  body: {
    apiVersion: 'v1',
    kind: 'Binding',
    metadata: { name: SILENT, namespace, ...metadata },
    target: { kind: 'Node', name: 'none' },
  },
});
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
 * What has to be there before anything is tried. The zones `ending` and `held` are then deleted:
 * the one is held by a finalizer of the test, the other by ours.
 */
/** The CNF of the pod that says nothing. */
export const cnfOf = (namespace: string, uid: string): object => ({
  apiVersion: 'fleet.sdewan.akraino.org/v1alpha1',
  kind: 'CNF',
  metadata: {
    name: SILENT,
    namespace,
    labels: MARK,
    ownerReferences: [{ apiVersion: 'v1', kind: 'Pod', name: SILENT, uid }],
  },
  spec: { deployment: ROLLED, templateHash: 'hash' },
});

export const given = ({ closed }: Places): object[] => [
  cnf(closed),
  daemonSet(closed, 'cnf', { sdewanPurpose: 'cnf-9' }),
  daemonSet(closed, 'another', {}),
  role('ClusterRole', OF_THE_TEST),
  binding(closed, 'somebody-elses', [account(closed)], { name: 'view' }),
  configMap(closed, 'somebody-elses', CA),
  dnat(closed, 'theirs'),
  dnat(closed, 'marked', MARK),
  nat(closed, 'marked', { labels: MARK }),
  ...['nobodynat', 'nobody'].map((name) => nat(closed, name, ICN)),
  nat(closed, 'nobodynat1', { ...ICN, annotations: { [LAST_APPLIED]: '{}' } }),
  nat(closed, 'nobodynat2', { ...ICN, labels: { 'app.kubernetes.io/managed-by': 'Helm' } }),
  dnat(closed, 'nobodynat', {}, ICN),
  zone(closed, 'lan1'),
  zone(closed, 'basic', { labels: { sdewanPurpose: 'cnf-1', 'sdewan-bucket-type': 'basic' } }),
  zone(closed, 'ending', {
    finalizers: ['test.example.org/hold'],
    annotations: { 'sdewan.akraino.org/references': 'off' },
  }),
  barePod(closed, SILENT),
  barePod(closed, STRANGER, { labels: {} }),
  network(closed),
  asking(closed, HOLDER),
  asking(closed, WAITING, { ipAddress: '10.254.0.99' }),
  rolled(closed),
  withMetadata(rule('CNFStatus', 'well', {}), { namespace: closed, labels: {} }),
  zone(closed, 'held', { labels: { sdewanPurpose: SILENT } }),
];
