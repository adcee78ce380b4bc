/**
 * What stays in memory of the objects that tenants write. Each text of each object in turn is as
 * long as the API server takes it; of no view of the object may more stay than of the longest list
 * of networks that counts.
 */
import { expect, it } from 'vitest';
import { WITHOUT_KINDS_ENV } from '#shared/inject/environment.ts';
import { objectSchema, type KubeObject } from '#shared/kube/objects.ts';
import {
  ACCEPTS_ANNOTATION,
  AGENT_CONTAINER,
  BUCKET_PERMISSION_ANNOTATION,
  EXPOSE_ANNOTATION,
  EXPOSE_ZONE_ANNOTATION,
  KEEP_ADDRESSES_ANNOTATION,
  NFN_NETWORK_ANNOTATION,
  POD_PORTS_ANNOTATION,
  POLICY_FOR_ANNOTATION,
  POLICY_GROUPS_ANNOTATION,
  POLICY_KINDS_ANNOTATION,
  POLICY_NETWORKS_ANNOTATION,
  PORTS_GATE,
  PURPOSE_ENV,
  PURPOSE_LABEL,
  WEIGHT_ANNOTATION,
} from '#shared/names.ts';
import { heldBytes, LONG } from '#shared/runtime/testing/heap.ts';
import { keptRbac } from '../admission/buckets/bindings.ts';
import { cnfPodOf } from './cnf-pod.ts';
import {
  controllerFactsOf,
  keptWorkloadSchema,
  listedPods,
  templateFactsOf,
  podPlaceOf,
} from './workload.ts';
import { acceptedIn } from '../controllers/generated-rules/followed-pods/namespaces.ts';
import { PolicyShares } from '../controllers/network-policy/policy-shares.ts';
import {
  multiNetworkPolicies,
  networkPolicies,
  watchedPods,
} from '../controllers/network-policy/kept.ts';
import { portPods } from '../controllers/network-ports/objects.ts';
import { serviceOf } from '../controllers/generated-rules/kubernetes-services/service.ts';
import { identified } from './kept-rule.ts';

/** Lists of networks and of namespaces count up to 16 Ki characters; the process adds noise. */
const MOST_BYTES = LONG / 2;

/** What other tests leave and free, over so many copies, is less than what is looked for. */
const FEW_COPIES = 12;

type Json = null | boolean | number | string | readonly Json[] | { readonly [key: string]: Json };
type JsonObject = { readonly [key: string]: Json };

const metadata = {
  namespace: 'tenant',
  name: 'one',
  uid: 'u-1',
  creationTimestamp: '2026-11-26T12:00:00Z',
  finalizers: ['example.com/one'],
  ownerReferences: [
    { apiVersion: 'apps/v1', kind: 'ReplicaSet', name: 'cnf-1', uid: 'u-2', controller: true },
  ],
};
const labels = { [PURPOSE_LABEL]: 'cnf-1' };
const annotations = {
  [NFN_NETWORK_ANNOTATION]: '{}',
  [ACCEPTS_ANNOTATION]: 'other',
  [POLICY_NETWORKS_ANNOTATION]: 'cluster',
  [POLICY_KINDS_ANNOTATION]: 'NetworkPolicy',
  [POD_PORTS_ANNOTATION]: '[]',
  [POLICY_GROUPS_ANNOTATION]: 'ids',
  [WEIGHT_ANNOTATION]: '1',
  [KEEP_ADDRESSES_ANNOTATION]: 'true',
  'k8s.v1.cni.cncf.io/network-status': '[]',
  'example.com/other': 'text',
};
const container = {
  name: AGENT_CONTAINER,
  image: 'agent',
  env: [
    { name: PURPOSE_ENV, value: 'cnf-1' },
    { name: WITHOUT_KINDS_ENV, value: 'IpsecSite' },
  ],
  ports: [{ name: 'http', containerPort: 80 }],
};

const pod = {
  apiVersion: 'v1',
  kind: 'Pod',
  metadata: { ...metadata, labels, annotations },
  spec: {
    nodeName: 'node-1',
    serviceAccountName: 'account',
    containers: [container, { name: 'openwrt', image: 'openwrt' }],
  },
};
const deployment = {
  apiVersion: 'apps/v1',
  kind: 'Deployment',
  metadata: { ...metadata, labels, annotations },
  spec: {
    template: {
      metadata: { labels, annotations },
      spec: { serviceAccountName: 'account', containers: [container] },
    },
  },
};
const service = {
  apiVersion: 'v1',
  kind: 'Service',
  metadata: {
    ...metadata,
    annotations: { [EXPOSE_ANNOTATION]: 'cnf-1', [EXPOSE_ZONE_ANNOTATION]: 'wan' },
  },
  spec: { clusterIPs: ['10.0.0.1'], ports: [{ port: 80 }], selector: { app: 'web' } },
};
const role = {
  apiVersion: 'rbac.authorization.k8s.io/v1',
  kind: 'Role',
  metadata: { ...metadata, annotations: { [BUCKET_PERMISSION_ANNOTATION]: 'vip' } },
  rules: [{ apiGroups: ['a'], resources: ['b'], verbs: ['use'], resourceNames: ['vip'] }],
};
const policy = (kind: string) => ({
  apiVersion: 'networking.k8s.io/v1',
  kind,
  metadata: { ...metadata, annotations: { [POLICY_FOR_ANNOTATION]: 'ovn-net1' } },
  spec: { podSelector: { matchLabels: { app: 'web' } }, policyTypes: ['Ingress'] },
});
const rule = {
  apiVersion: 'batch.sdewan.akraino.org/v1alpha1',
  kind: 'FirewallRule',
  metadata: { ...metadata, labels, annotations },
  spec: { name: 'one', src: 'lan' },
};

type View = { object: JsonObject; view: (object: KubeObject) => unknown };
const views: Record<string, View> = {
  'a pod of a CNF': { object: pod, view: cnfPodOf },
  'what a pod says': { object: pod, view: templateFactsOf },
  'where a pod runs': { object: pod, view: podPlaceOf },
  'who controls a pod': { object: pod, view: controllerFactsOf },
  'a pod in a list': { object: pod, view: (object) => listedPods.schema.parse(object) },
  'a pod for policies': { object: pod, view: (object) => watchedPods.schema.parse(object) },
  'a pod that waits for addresses': {
    object: { ...pod, spec: { containers: [], schedulingGates: [{ name: PORTS_GATE }] } },
    view: (object) => portPods.schema.parse(object),
  },
  'a pod with addresses': { object: pod, view: (object) => portPods.schema.parse(object) },
  'a workload': { object: deployment, view: (object) => keptWorkloadSchema.parse(object) },
  'a Service': { object: service, view: serviceOf },
  'a Role': { object: role, view: (object) => keptRbac.roles.schema.parse(object) },
  'a NetworkPolicy': {
    object: policy('NetworkPolicy'),
    view: (object) => networkPolicies(new PolicyShares()).schema.parse(object),
  },
  'a MultiNetworkPolicy': {
    object: policy('MultiNetworkPolicy'),
    view: (object) => multiNetworkPolicies(new PolicyShares()).schema.parse(object),
  },
  'a rule': { object: rule, view: identified },
  'consent of a namespace': {
    object: { ...rule, metadata: { ...metadata, annotations } },
    view: ({ metadata: { annotations: all } }) => acceptedIn(all?.[ACCEPTS_ANNOTATION]),
  },
};

/** `Array.isArray` does not narrow what is read only. */
const isList = (json: Json): json is readonly Json[] => Array.isArray(json);

/** The object with each of its texts in turn replaced by the given one, and where that was. */
const withEach = (object: Json, long: Json, path: string): [path: string, object: Json][] => {
  if (typeof object === 'string') return [[path, long]];
  if (typeof object !== 'object' || object === null) return [];
  return Object.entries(object).flatMap(([key, value]: [string, Json]) =>
    withEach(value, long, `${path}.${key}`).map(([where, other]): [string, Json] => [
      where,
      isList(object)
        ? object.map((item, at) => (String(at) === key ? other : item))
        : { ...object, [key]: other },
    ]),
  );
};

/**
 * The API server bounds names of objects, labels, finalizers, accounts, nodes and ports, takes only
 * addresses as such, and gives the rest itself.
 */
const BOUNDED = [
  /^\.(apiVersion|kind)$/,
  /^\.metadata\.(namespace|name|uid|creationTimestamp|finalizers)\b/,
  /\.(labels|matchLabels|clusterIPs)\./,
  /\.(serviceAccountName|nodeName|(ports|schedulingGates)\.\d+\.name)$/,
];
const isBounded = (path: string): boolean => BOUNDED.some((pattern) => pattern.test(path));

type Place = { where: string; path: string } & View;
const places = Object.entries(views).flatMap(([name, view]) =>
  withEach(view.object, '', '').flatMap(([path]): Place[] =>
    isBounded(path) ? [] : [{ where: `${name}: ${path}`, path, ...view }],
  ),
);

const viewsOf = (long: string, among: readonly Place[]): unknown[] =>
  among.map(({ object, view, path }) => {
    const [, changed] = withEach(object, long, '').find(([where]) => where === path) ?? [];
    const parsed = objectSchema.safeParse(changed);
    try {
      return parsed.success && view(parsed.data);
    } catch {
      return undefined;
    }
  });

/** Each list as long as the API server takes it; labels are bounded by a policy there. */
const crowded = (spec: object): KubeObject => {
  const of = (make: (at: number) => object) =>
    JSON.stringify(Array.from({ length: 32 }, (_, at) => make(at)));
  const ips = Array.from({ length: 8 }, (_, at) => `fd00:1234:5678:9abc:def0:1:2:${at}`);
  const name = 'n'.repeat(200);
  const all = {
    [NFN_NETWORK_ANNOTATION]: `{"interface":${of((at) => ({ name: `${name}${at}`, interface: `net${at}` }))}}`,
    'k8s.v1.cni.cncf.io/networks': of((at) => ({ name: `${name}${at}`, interface: `mul${at}` })),
    'k8s.plugin.opnfv.org/ovnInterfaces': of((at) => ({ ip_address: ips, interface: `net${at}` })),
    'k8s.v1.cni.cncf.io/network-status': of((at) => ({
      name: `m${at}`,
      interface: `mul${at}`,
      ips,
    })),
  };
  const ports = Array.from({ length: 10_000 }, (_, at) => ({
    name: `port-${at}`,
    containerPort: at + 1,
  }));
  const made = { ...pod, metadata: { ...metadata, labels, annotations: all } };
  return objectSchema.parse({ ...made, spec: { containers: [{ ...container, ports }], ...spec } });
};

const gates = [
  ...Array.from({ length: 5_000 }, (_, at) => ({ name: `gate-${at}` })),
  { name: PORTS_GATE },
];

it.each([
  ['that waits', { schedulingGates: [{ name: PORTS_GATE }] }],
  ['that waits for many', { schedulingGates: gates }],
  ['that no node runs', {}],
  ['that a node runs', { nodeName: 'node-1' }],
])('keeps little of a pod %s, however many networks, addresses and ports it names', (_, spec) => {
  const kept = [portPods, watchedPods].map(({ schema }) => schema.parse(crowded(spec)));
  expect(kept.map((one) => JSON.stringify(one).length).every((most) => most < 65_536)).toBe(true);
});

it('keeps little of each view of each object, however long a text of it is', () => {
  expect(places.length).toBeGreaterThan(100);
  // One text is held in all places, or in none, so that one measurement tells; what it finds is
  // looked for one by one.
  if (heldBytes((long) => viewsOf(long, places), FEW_COPIES) <= MOST_BYTES) return;
  const held = places.map((place) => ({
    where: place.where,
    bytes: heldBytes((long) => viewsOf(long, [place])),
  }));
  expect(held.filter(({ bytes }) => bytes > MOST_BYTES)).toEqual([]);
});
