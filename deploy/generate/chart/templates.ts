/** The chart's templates: the objects of deploy/ and its components, with values to be set. */
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { parse } from 'yaml';
import * as z from 'zod';
import { FLEET_ROLE } from '#shared/names.ts';
import { own } from '#shared/util/own.ts';
import { manifestsIn, manifestsOf, type Manifest } from '../../installation/kustomization.ts';
import { uninstallHook } from './hook.ts';
import { settings } from './env-values.ts';
import { createTemplate, literal, when, withScalar, withValue, type Template } from './template.ts';
import { deploymentOf, valuesOf } from './values.ts';
import type { Values } from './value.ts';

const deploy = join(import.meta.dirname, '../..');
/** That of deploy/. A release has its own. */
const NAMESPACE = 'sdewan-system';
const NAME = 'sdewan-coordinator';
const RELEASE_NAMESPACE = '{{ .Release.Namespace }}';
const LABELS = { 'app.kubernetes.io/part-of': 'sdewan' };

/** By file name. */
export type Templates = ReadonlyMap<string, string>;

const componentSchema = z.looseObject({
  patches: z.array(
    z.strictObject({
      target: z.strictObject({ kind: z.string(), name: z.string() }).optional(),
      patch: z.string(),
    }),
  ),
});
const component = (name: string): z.infer<typeof componentSchema>['patches'] =>
  componentSchema.parse(parse(readFileSync(join(deploy, name, 'kustomization.yaml'), 'utf8')))
    .patches;

/** All that the chart is made of. */
export const chartOf = (): { values: Values; templates: Templates } => {
  const base = manifestsOf(deploy).filter(({ kind }) => kind !== 'Namespace');
  const one = (kind: string, name: string): Manifest => {
    const found = base.find((each) => each.kind === kind && each.metadata.name === name);
    if (!found) throw new Error(`deploy/ has no ${kind} ${name}`);
    return found;
  };
  const deployment = one('Deployment', NAME);
  const budget = budgetSchema.parse(one('PodDisruptionBudget', NAME));
  const values = valuesOf({
    deployment,
    maxUnavailable: budget.spec.maxUnavailable,
    updownPrograms: programsIn(one('ValidatingAdmissionPolicy', 'sdewan-programs')),
  });
  const crds = base.filter(({ kind }) => kind === 'CustomResourceDefinition');
  const others = base.filter((each) => !crds.includes(each));
  return {
    values,
    templates: new Map([
      ...crds.map((crd): [string, string] => [
        `crds/${crd.metadata.name.split('.', 1)[0]}.yaml`,
        when('.Values.crds.install', createTemplate().text(kept(crd))),
      ]),
      ...[...Map.groupBy(others, fileOf)].map(([file, manifests]): [string, string] => [
        file,
        manifests.map(templateOf).join('---\n'),
      ]),
      ...addOns(),
      ['uninstall.yaml', uninstallHook(deployment)],
    ]),
  };
};

const budgetSchema = z.looseObject({ spec: z.looseObject({ maxUnavailable: z.unknown() }) });
const programsSchema = z.looseObject({
  spec: z.looseObject({
    variables: z.tuple(
      [z.object({ name: z.literal('allowed'), expression: z.string() })],
      z.unknown(),
    ),
  }),
});
/** CEL, and JSON. */
const programsIn = (policy: Manifest): string[] =>
  z.array(z.string()).parse(JSON.parse(programsSchema.parse(policy).spec.variables[0].expression));

/** One file for what belongs together. */
const fileOf = ({ kind }: Manifest): string => {
  if (/Role|ServiceAccount/.test(kind)) return 'rights.yaml';
  if (kind.startsWith('ValidatingAdmissionPolicy')) return 'policies.yaml';
  return /Webhook/.test(kind) ? 'webhooks.yaml' : 'coordinator.yaml';
};

/** Helm leaves it where a release no longer has it: a CRD that goes takes all its objects along. */
const kept = (crd: Manifest): Manifest => ({
  ...crd,
  metadata: {
    ...crd.metadata,
    annotations: { ...annotationsSchema.parse(crd.metadata), ...KEEP },
  },
});
const KEEP = { 'helm.sh/resource-policy': 'keep' };
const annotationsSchema = z
  .looseObject({ annotations: z.record(z.string(), z.string()).default({}) })
  .transform(({ annotations }) => annotations);

const inRelease = (text: string): string => text.replaceAll(NAMESPACE, RELEASE_NAMESPACE);
const plain = (manifest: object): string => inRelease(createTemplate().text(manifest));

const templateOf = (manifest: Manifest): string => {
  const template = createTemplate();
  const open =
    own(OPENED, `${manifest.kind} ${manifest.metadata.name}`) ?? own(OPENED, manifest.kind);
  const text = inRelease(template.text(open ? open(manifest, template) : manifest));
  return manifest.kind === 'PodDisruptionBudget'
    ? when('.Values.podDisruptionBudget.enabled', text)
    : text;
};

type Open = (manifest: Manifest, template: Template) => object;

/** By kind, or kind and name: objects in which people set something. */
const OPENED: Readonly<Record<string, Open>> = {
  [`Deployment ${NAME}`]: (manifest, template) => openDeployment(manifest, template),
  PodDisruptionBudget: (manifest, { value }) => {
    const { spec } = budgetSchema.parse(manifest);
    return {
      ...manifest,
      spec: { ...spec, maxUnavailable: value('.Values.podDisruptionBudget.maxUnavailable') },
    };
  },
  'ValidatingAdmissionPolicy sdewan-programs': (manifest, { value }) => {
    const { spec } = programsSchema.parse(manifest);
    const [allowed, ...others] = spec.variables;
    const expression = value('toJson .Values.updownPrograms');
    return { ...manifest, spec: { ...spec, variables: [{ ...allowed, expression }, ...others] } };
  },
  MutatingWebhookConfiguration: (manifest, template) => openWebhooks(manifest, template),
  ValidatingWebhookConfiguration: (manifest, template) => openWebhooks(manifest, template),
};

const openDeployment = (manifest: Manifest, { value, line, item }: Template): object => {
  const { spec, ...rest } = deploymentOf(manifest);
  const pod = spec.template.spec;
  const [container] = pod.containers;
  const env = container.env.map((one) =>
    one.name === 'NODE_OPTIONS' ? { ...one, value: value('.Values.nodeOptions') } : one,
  );
  return {
    ...rest,
    spec: {
      ...spec,
      replicas: value('int64 .Values.replicas'),
      template: {
        ...spec.template,
        metadata: {
          ...z.looseObject({}).parse(spec.template['metadata']),
          annotations: line(withValue('podAnnotations')),
        },
        spec: {
          ...pod,
          imagePullSecrets: line(withValue('imagePullSecrets')),
          priorityClassName: line(withScalar('priorityClassName')),
          nodeSelector: line(withValue('nodeSelector')),
          affinity: line(withValue('affinity')),
          tolerations: line(withValue('tolerations')),
          topologySpreadConstraints: line(withValue('topologySpreadConstraints')),
          containers: [
            {
              ...container,
              image: value('include "sdewan.image" .Values.image'),
              imagePullPolicy: line(withScalar('image.pullPolicy')),
              env: [
                ...env.filter(({ name }) => name !== AGENT_IMAGE_VARIABLE),
                item(agentImageItem),
                item(dashboardItems('env')),
                ...settings().map(({ variable, text, unset }) =>
                  item(({ indent }) => settingItem(variable, text, { unset, indent })),
                ),
              ],
              ports: [...container.ports, item(dashboardItems('ports'))],
              resources: line(withValue('resources')),
              volumeMounts: line(({ indent, key }) => [
                '{{- if .Values.certManager.enabled }}',
                ...literal({ [key]: [{ ...CERTIFICATE_MOUNT }] }, indent),
                '{{- end }}',
              ]),
            },
          ],
          volumes: line(({ indent, key }) => [
            '{{- if .Values.certManager.enabled }}',
            `${indent}# The kubelet starts no coordinator before cert-manager has written it: the first one would make a CA of its own.`,
            ...literal({ [key]: [{ ...CERTIFICATE_VOLUME }] }, indent),
            '{{- end }}',
          ]),
        },
      },
    },
  };
};

const CERTIFICATE_SECRET = 'sdewan-coordinator-tls';
const CERTIFICATE_VOLUME = { name: 'certificate', secret: { secretName: CERTIFICATE_SECRET } };
const CERTIFICATE_MOUNT = { name: 'certificate', mountPath: '/certificate', readOnly: true };

const settingItem = (
  variable: string,
  text: string,
  { unset, indent }: { unset: string; indent: string },
): string[] => [
  `{{- if ne (${text}) ${JSON.stringify(unset)} }}`,
  `${indent}- name: ${variable}`,
  `${indent}  value: {{ ${text} | toJson }}`,
  '{{- end }}',
];

const AGENT_IMAGE_VARIABLE = 'SDEWAN_AGENT_IMAGE';

const agentImageItem = ({ indent }: { indent: string }): string[] => [
  `${indent}- name: ${AGENT_IMAGE_VARIABLE}`,
  `${indent}  value: {{ include "sdewan.image" .Values.agentImage | toJson }}`,
];

/** What the component gives the coordinator. */
const dashboardItems =
  (list: 'env' | 'ports') =>
  ({ indent }: { indent: string }): string[] => {
    const [patch] = component('dashboard');
    const { spec } = patchedDeploymentSchema.parse(parse(patch?.patch ?? ''));
    const [container] = spec.template.spec.containers;
    const added = literal(container[list], indent);
    return ['{{- if .Values.dashboard.enabled }}', ...added, '{{- end }}'];
  };
const added = z.array(z.looseObject({}));
const patchedDeploymentSchema = z.looseObject({
  spec: z.object({
    template: z.object({
      spec: z.object({
        containers: z.tuple([z.strictObject({ name: z.string(), env: added, ports: added })]),
      }),
    }),
  }),
});

const either = (condition: string, one: object, other: object, indent: string): string[] => [
  `{{- if ${condition} }}`,
  ...literal(one, indent),
  '{{- else }}',
  ...literal(other, indent),
  '{{- end }}',
];

const webhooksSchema = z.looseObject({
  kind: z.string(),
  webhooks: z.array(z.looseObject({ name: z.string(), namespaceSelector: z.unknown().optional() })),
});

const openWebhooks = (manifest: Manifest, { line }: Template): object => {
  const { webhooks, ...rest } = webhooksSchema.parse(manifest);
  const optIn = component('opt-in')
    .map(({ patch }) => webhooksSchema.parse(parse(patch)))
    .find(({ kind }) => kind === manifest.kind);
  return {
    ...rest,
    webhooks: webhooks.map((webhook) => {
      const patched = optIn?.webhooks.find(({ name }) => name === webhook.name);
      if (!patched) return webhook;
      const one = { namespaceSelector: patched.namespaceSelector };
      const other = { namespaceSelector: webhook.namespaceSelector };
      return {
        ...webhook,
        namespaceSelector: line(({ indent }) => either('.Values.optIn', one, other, indent)),
      };
    }),
  };
};

/** Part of deploy/1.36 that does nothing in a namespace which does not ask for it. */
const isPortsGate = ({ metadata }: Manifest): boolean => metadata.name === 'sdewan-ports-gate';
const HAS_MUTATING_POLICIES =
  '(.Capabilities.APIVersions.Has "admissionregistration.k8s.io/v1/MutatingAdmissionPolicy")';

/** What is not in deploy/ itself. */
const addOns = (): [string, string][] => [
  [
    'dashboard.yaml',
    when('.Values.dashboard.enabled', allPlain(manifestsIn(join(deploy, 'dashboard/rights.yaml')))),
  ],
  ['network-policy.yaml', networkPolicy()],
  [
    'finalizers.yaml',
    when(
      `and .Values.finalizersByApiServer ${HAS_MUTATING_POLICIES}`,
      allPlain(manifestsOf(join(deploy, '1.36')).filter((one) => !isPortsGate(one))),
    ),
  ],
  [
    'ports-gate.yaml',
    when(HAS_MUTATING_POLICIES, allPlain(manifestsOf(join(deploy, '1.36')).filter(isPortsGate))),
  ],
  ['fleet.yaml', fleetBindings()],
  ['certificate.yaml', certificate()],
  ['monitors.yaml', labelled('monitors', manifestsIn(join(deploy, 'monitors.yaml')))],
  ['alerts.yaml', labelled('alerts', manifestsIn(join(deploy, 'alerts.yaml')))],
  ['board.yaml', board()],
];

const allPlain = (manifests: readonly Manifest[]): string => manifests.map(plain).join('---\n');

const ruleSchema = z.looseObject({ spec: z.looseObject({ ingress: z.array(z.looseObject({})) }) });

const networkPolicy = (): string => {
  const { line, text } = createTemplate();
  const manifests = manifestsIn(join(deploy, 'network-policy/network-policy.yaml')).map((one) => {
    const { spec, ...rest } = ruleSchema.parse(one);
    const [apiServers, ...others] = spec.ingress;
    const from = line(({ indent, key }) => [
      // No block at all would let everybody in.
      '{{- if not .Values.networkPolicy.apiServerCIDRs }}',
      '{{- fail "networkPolicy.apiServerCIDRs: must name the blocks of addresses from which API servers call webhooks" }}',
      '{{- end }}',
      `${indent}${key}:`,
      '{{- range .Values.networkPolicy.apiServerCIDRs }}',
      `${indent}  - ipBlock: { cidr: {{ . | toJson }} }`,
      '{{- end }}',
    ]);
    return { ...rest, spec: { ...spec, ingress: [{ ...apiServers, from }, ...others] } };
  });
  return when('.Values.networkPolicy.enabled', inRelease(manifests.map(text).join('---\n')));
};

const fleetBindings = (): string => {
  const { value, text } = createTemplate();
  const binding = {
    apiVersion: 'rbac.authorization.k8s.io/v1',
    kind: 'RoleBinding',
    metadata: { name: FLEET_ROLE, namespace: value('.'), labels: LABELS },
    roleRef: { apiGroup: 'rbac.authorization.k8s.io', kind: 'ClusterRole', name: FLEET_ROLE },
    subjects: [{ kind: 'ServiceAccount', name: NAME, namespace: value('$.Release.Namespace') }],
  };
  return `{{- range .Values.fleetNamespaces }}\n---\n${text(binding)}{{- end }}\n`;
};

/** For those names that the coordinator would put into its own. */
const certificate = (): string => {
  const { value, text } = createTemplate();
  const names = ['', '.svc', '.svc.cluster.local'].map((end) =>
    value(`printf "${NAME}.%s${end}" .Release.Namespace`),
  );
  const issuerRef = Object.fromEntries(
    ['name', 'kind', 'group'].map((name) => [name, value(`.Values.certManager.issuerRef.${name}`)]),
  );
  const object = {
    apiVersion: 'cert-manager.io/v1',
    kind: 'Certificate',
    metadata: { name: NAME, namespace: value('.Release.Namespace'), labels: LABELS },
    spec: { secretName: CERTIFICATE_SECRET, dnsNames: names, issuerRef },
  };
  return when('.Values.certManager.enabled', text(object));
};

const labelled = (name: string, manifests: readonly Manifest[]): string => {
  const { line, text } = createTemplate();
  const labels = line(labelLines(name));
  const texts = manifests.map((one) => text({ ...one, metadata: { ...one.metadata, labels } }));
  return when(`.Values.${name}.enabled`, inRelease(texts.join('---\n')));
};

/** Ours, and those that were asked for. */
const labelLines =
  (name: string) =>
  ({ indent, key }: { indent: string; key: string }): string[] => [
    ...literal({ [key]: LABELS }, indent),
    `{{- with .Values.${name}.labels }}`,
    `{{- toYaml . | nindent ${indent.length + 2} }}`,
    '{{- end }}',
  ];

export const BOARD_FILE = 'files/grafana-board.json';

const board = (): string => {
  const { line, value, text } = createTemplate();
  const object = {
    apiVersion: 'v1',
    kind: 'ConfigMap',
    metadata: {
      name: 'sdewan-grafana-board',
      namespace: value('.Release.Namespace'),
      labels: line(labelLines('board')),
    },
    data: { 'sdewan.json': value(`.Files.Get "${BOARD_FILE}"`) },
  };
  return when('.Values.board.enabled', text(object));
};
