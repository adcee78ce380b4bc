/** All values of the chart. Defaults are what the manifests of deploy/ say. */
import * as z from 'zod';
import type { Manifest } from '../../installation/kustomization.ts';
import { settings } from './env-values.ts';
import {
  BOOLEAN,
  OBJECT,
  OBJECTS,
  STRINGS_BY_NAME,
  TEXT,
  TEXTS,
  type Value,
  type Values,
} from './value.ts';

/** What becomes of rules when the release goes. */
export const RULES_AT_THE_END = ['refuse', 'keep'] as const;

export const AGENT_IMAGE = { repository: 'sdewan-agent', tag: 'dev' };

const deploymentSchema = z.looseObject({
  spec: z.looseObject({
    replicas: z.int(),
    template: z.looseObject({
      spec: z.looseObject({
        tolerations: z.array(z.looseObject({})),
        topologySpreadConstraints: z.array(z.looseObject({})),
        containers: z.tuple([
          z.looseObject({
            image: z.string(),
            env: z.array(z.looseObject({ name: z.string(), value: z.string().optional() })),
            ports: z.array(z.looseObject({})),
            resources: z.looseObject({}),
          }),
        ]),
      }),
    }),
  }),
});
type DeploymentSpec = z.infer<typeof deploymentSchema>['spec'];
export const deploymentOf = (manifest: Manifest): z.infer<typeof deploymentSchema> =>
  deploymentSchema.parse(manifest);

const DIGEST = { ...TEXT, pattern: '^(sha256:[0-9a-f]{64})?$' };
const A_DIGEST = `sha256:${'0'.repeat(64)}`;

const imageValues = (
  section: string,
  { repository, tag }: { repository: string; tag: string },
): Value[] => [
  {
    path: `${section}.repository`,
    description: 'Its name, with the registry that your cluster pulls from.',
    default: repository,
    form: { ...TEXT, minLength: 1 },
    example: 'registry.example/name',
  },
  {
    path: `${section}.tag`,
    description: 'Its tag; may be empty where there is a digest.',
    default: tag,
    form: TEXT,
    example: '1.0',
  },
  {
    path: `${section}.digest`,
    description: 'Its digest, `sha256:…`: then the tag decides nothing.',
    default: '',
    form: DIGEST,
    example: A_DIGEST,
  },
];

export type Defaults = {
  deployment: Manifest;
  /** maxUnavailable of the budget. */
  maxUnavailable: unknown;
  updownPrograms: readonly string[];
};

export const valuesOf = (defaults: Defaults): Values => {
  const { spec } = deploymentOf(defaults.deployment);
  const [{ image }] = spec.template.spec.containers;
  const [repository = '', tag = ''] = image.split(':');
  return {
    sections: SECTIONS,
    values: [
      ...imageValues('image', { repository, tag }),
      {
        path: 'image.pullPolicy',
        description: 'When nodes pull it; empty: as Kubernetes does by itself.',
        default: '',
        form: { enum: ['', 'Always', 'IfNotPresent', 'Never'] },
        example: 'Always',
      },
      ...imageValues('agentImage', AGENT_IMAGE),
      {
        path: 'imagePullSecrets',
        description:
          'Secrets of the namespace of the release with which nodes pull the image of the coordinator, each as `name: …`. Agents are pulled with those of the CNF.',
        default: [],
        form: OBJECTS,
        example: [{ name: 'registry' }],
      },
      ...podValues(spec),
      ...reachValues(defaults.maxUnavailable),
      ...clusterValues(defaults.updownPrograms),
      ...certificateValues(),
      ...monitoringValues(),
      ...UNINSTALL,
      ...settings().map(({ value }) => value),
    ],
  };
};

/** Coordinators and the pods that they run in. */
const podValues = ({ replicas, template: { spec: pod } }: DeploymentSpec): Value[] => {
  const [container] = pod.containers;
  const nodeOptions = container.env.find(({ name }) => name === 'NODE_OPTIONS')?.value ?? '';
  return [
    {
      path: 'replicas',
      description: 'How many coordinators there are. One leads; all answer webhooks.',
      default: replicas,
      form: { type: 'integer', minimum: 1, maximum: 16 },
      example: 3,
    },
    {
      path: 'resources',
      description:
        'Requests and limits of the coordinator. With another limit of memory, change `nodeOptions`, too.',
      default: container.resources,
      form: OBJECT,
      example: { limits: { memory: '1Gi' } },
    },
    {
      path: 'nodeOptions',
      description:
        'Options of Node: the heap takes at most so many megabytes, three quarters of the limit.',
      default: nodeOptions,
      form: TEXT,
      example: '--max-old-space-size=768',
    },
    {
      path: 'podAnnotations',
      description: 'Annotations of the pods of the coordinator.',
      default: {},
      form: STRINGS_BY_NAME,
      example: { 'example.org/a': 'b' },
    },
    {
      path: 'priorityClassName',
      description:
        'Priority class of the coordinator. No CNF pod starts without one of them: `system-cluster-critical` is fitting.',
      default: '',
      form: TEXT,
      example: 'system-cluster-critical',
    },
    {
      path: 'nodeSelector',
      description: 'Labels of the nodes on which coordinators run.',
      default: {},
      form: STRINGS_BY_NAME,
      example: { 'kubernetes.io/os': 'linux' },
    },
    {
      path: 'affinity',
      description: 'Affinity of the pods of the coordinator, as in a pod.',
      default: {},
      form: OBJECT,
      example: { nodeAffinity: {} },
    },
    {
      path: 'tolerations',
      description:
        'Taints that coordinators tolerate. The default has them leave a lost node after 30 s, and lets a cluster of one node be drained.',
      default: pod.tolerations,
      form: OBJECTS,
      example: [{ operator: 'Exists' }],
    },
    {
      path: 'topologySpreadConstraints',
      description: 'How coordinators are spread over nodes.',
      default: pod.topologySpreadConstraints,
      form: OBJECTS,
      example: [],
    },
  ];
};

/** Which coordinators are there, and what reaches them. */
const reachValues = (maxUnavailable: unknown): Value[] => [
  {
    path: 'podDisruptionBudget.enabled',
    description: 'Whether there is one.',
    default: true,
    form: BOOLEAN,
    example: false,
  },
  {
    path: 'podDisruptionBudget.maxUnavailable',
    description: 'How many coordinators may be away at a time, a number or a percentage.',
    default: maxUnavailable,
    form: { type: ['integer', 'string'] },
    example: '50%',
  },
  {
    path: 'networkPolicy.enabled',
    description:
      'Whether only API servers, CNFs and nodes reach the webhooks and the intake of reports (docs/security.md). Needs `networkPolicy.apiServerCIDRs`.',
    default: false,
    form: BOOLEAN,
    example: true,
    needs: { 'networkPolicy.apiServerCIDRs': ['10.0.0.10/32'] },
  },
  {
    path: 'networkPolicy.apiServerCIDRs',
    description:
      'Blocks of addresses from which API servers call webhooks. With a wrong one no CNF pod starts.',
    default: [],
    form: TEXTS,
    example: ['10.0.0.10/32'],
    needs: { 'networkPolicy.enabled': true },
  },
];

/** What the cluster gets beside them, and what it takes. */
const clusterValues = (updownPrograms: readonly string[]): Value[] => [
  {
    path: 'crds.install',
    description:
      'Whether the release has the CRDs, and an upgrade changes them. They stay when a release no longer has them, and with them all rules.',
    default: true,
    form: BOOLEAN,
    example: false,
  },
  {
    path: 'finalizersByApiServer',
    description:
      'Whether the API server itself gives new rules their finalizer, where it can (Kubernetes 1.36 and later; docs/admission.md).',
    default: true,
    form: BOOLEAN,
    example: false,
  },
  {
    path: 'optIn',
    description:
      'Whether agents come only into namespaces with the label `sdewan.akraino.org/inject=enabled`.',
    default: false,
    form: BOOLEAN,
    example: true,
  },
  {
    path: 'updownPrograms',
    description:
      'Programs of the image of the CNF that IPsec connections may name as updown. strongSwan runs them as root.',
    default: updownPrograms,
    form: TEXTS,
    example: ['/etc/other'],
  },
  {
    path: 'fleetNamespaces',
    description:
      'Namespaces in which the coordinator may roll CNFDeployments (docs/fleet.md). They must exist.',
    default: [],
    form: TEXTS,
    example: ['edge'],
  },
  {
    path: 'dashboard.enabled',
    description:
      'Whether the coordinator serves the dashboard, on loopback of its pods (docs/dashboard.md).',
    default: false,
    form: BOOLEAN,
    example: true,
  },
];

const certificateValues = (): Value[] => [
  {
    path: 'certManager.enabled',
    description:
      'Whether cert-manager makes the certificate. Its issuer must give `ca.crt`, as those of kinds CA and Vault do. Not on a running installation: docs/chart.md.',
    default: false,
    form: BOOLEAN,
    example: true,
  },
  ...Object.entries(ISSUER).map(([name, { description, usual }]): Value => ({
    path: `certManager.issuerRef.${name}`,
    description,
    default: usual,
    form: TEXT,
    example: 'other',
    needs: { 'certManager.enabled': true },
  })),
];

const monitoringValues = (): Value[] =>
  Object.entries(MONITORING).flatMap(([name, { description, labels }]): Value[] => [
    {
      path: `${name}.enabled`,
      description,
      default: false,
      form: BOOLEAN,
      example: true,
    },
    {
      path: `${name}.labels`,
      description: 'Labels by which it is found.',
      default: labels,
      form: STRINGS_BY_NAME,
      example: { release: 'prometheus' },
      needs: { [`${name}.enabled`]: true },
    },
  ]);

const UNINSTALL: readonly Value[] = [
  {
    path: 'uninstall.rules',
    description:
      'What `helm uninstall` does with rules: `refuse`: it changes nothing while there are any; `keep`: they stay, and so does what is configured on CNFs.',
    default: 'refuse',
    form: { enum: RULES_AT_THE_END },
    example: 'keep',
  },
  {
    path: 'uninstall.timeoutSeconds',
    description:
      'How long each step of it may take. `--timeout` of `helm uninstall` must be longer.',
    default: 120,
    form: { type: 'integer', minimum: 1, maximum: 3_600 },
    example: 60,
  },
];

const SECTIONS = {
  image: 'Image of the coordinator.',
  agentImage: 'Image of the agents that it injects.',
  podDisruptionBudget: 'PodDisruptionBudget of the coordinator.',
  networkPolicy: 'NetworkPolicy of the coordinator.',
  crds: 'CustomResourceDefinitions.',
  dashboard: 'Dashboard.',
  certManager: 'A certificate that is not the coordinator’s own.',
  'certManager.issuerRef': 'The issuer of cert-manager.',
  monitors: "PodMonitors for Prometheus' operator.",
  alerts: "A PrometheusRule for Prometheus' operator.",
  board: 'A ConfigMap with a board for Grafana.',
  uninstall: 'What `helm uninstall` does.',
  settings: "The coordinator's environment; all variables are in docs/configuration.md.",
};

const ISSUER: Readonly<Record<string, { description: string; usual: string }>> = {
  name: { description: 'Name of the issuer.', usual: 'sdewan' },
  kind: {
    description: 'Its kind: `Issuer` of the namespace of the release, or `ClusterIssuer`.',
    usual: 'Issuer',
  },
  group: { description: 'Its API group.', usual: 'cert-manager.io' },
};

const MONITORING: Readonly<
  Record<string, { description: string; labels: Readonly<Record<string, string>> }>
> = {
  monitors: {
    description:
      "Whether Prometheus' operator has coordinators and agents scraped (docs/metrics.md).",
    labels: {},
  },
  alerts: { description: 'Whether the alarms of docs/runbooks.md are there.', labels: {} },
  board: {
    description: "Whether the board is there, for Grafana's sidecar to find.",
    labels: { grafana_dashboard: '1' },
  },
};
