/**
 * deploy/ as an installation has it, moved so that several can live in one cluster: another system namespace, a suffix on names that
 * are of the whole cluster, webhooks by URL (the process kubelet has no Services), and an eye only for namespaces with the
 * test's label.
 */
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { parseAllDocuments } from 'yaml';
import * as z from 'zod';

const DEPLOY = join(import.meta.dirname, '../../../deploy');
const FILES = [
  'rbac/agent-roles.yaml',
  'rbac/coordinator.yaml',
  'rbac/admission.yaml',
  'policies/purpose.yaml',
  'policies/coordinator.yaml',
  'webhooks/mutating.yaml',
  'webhooks/validating.yaml',
];
export const TEST_LABEL = 'sdewan-test';

export type Installation = {
  /** Stands for `sdewan-system`, and is the value of the test's label. */
  systemNamespace: string;
  /** `https://127.0.0.1:port` of the coordinator. */
  url: string;
};

const selectorSchema = z.looseObject({ matchExpressions: z.array(z.unknown()).default([]) });
const webhookSchema = z.looseObject({
  clientConfig: z.object({ service: z.looseObject({ path: z.string() }) }),
  namespaceSelector: selectorSchema.default({ matchExpressions: [] }),
});
const manifestSchema = z.looseObject({
  kind: z.string(),
  metadata: z.looseObject({ name: z.string(), namespace: z.string().optional() }),
  roleRef: z.looseObject({ kind: z.string(), name: z.string() }).optional(),
  rules: z.array(z.looseObject({ resourceNames: z.array(z.string()).optional() })).optional(),
  webhooks: z.array(webhookSchema).optional(),
  spec: z.looseObject({ policyName: z.string().optional() }).optional(),
});
type Manifest = z.infer<typeof manifestSchema>;

export const manifestsOf = (installation: Installation): object[] =>
  FILES.flatMap((file) => {
    const text = readFileSync(join(DEPLOY, file), 'utf8');
    const moved = text.replaceAll('sdewan-system', installation.systemNamespace);
    return parseAllDocuments(moved).map((document) =>
      move(manifestSchema.parse(document.toJS()), installation),
    );
  });

export const webhookConfigurationOf = (systemNamespace: string): string =>
  `sdewan-coordinator-${systemNamespace}`;

const CLUSTER_SCOPED = /^(Cluster|Validating|Mutating)/;

const move = (manifest: Manifest, installation: Installation): object => {
  const { systemNamespace } = installation;
  const rename = (name: string): string =>
    // Those of the agents are the same for every installation.
    name.startsWith('sdewan-agent') ? name : `${name}-${systemNamespace}`;
  const { kind, metadata, roleRef, rules, spec, webhooks } = manifest;
  const isOfCluster = CLUSTER_SCOPED.test(kind);
  return {
    ...manifest,
    metadata: isOfCluster
      ? { ...metadata, name: rename(metadata.name) }
      : { ...metadata, namespace: systemNamespace },
    ...(roleRef?.kind === 'ClusterRole' && { roleRef: { ...roleRef, name: rename(roleRef.name) } }),
    ...(rules &&
      isOfCluster && {
        rules: rules.map((rule) => ({
          ...rule,
          ...(rule.resourceNames?.includes('sdewan-coordinator') && {
            resourceNames: [webhookConfigurationOf(systemNamespace)],
          }),
        })),
      }),
    ...(webhooks && { webhooks: webhooks.map((webhook) => moveWebhook(webhook, installation)) }),
    ...(spec?.policyName !== undefined && { spec: moveBinding(spec, installation, rename) }),
  };
};

const moveBinding = (
  spec: NonNullable<Manifest['spec']>,
  installation: Installation,
  rename: (name: string) => string,
): object => ({
  ...spec,
  policyName: rename(spec.policyName ?? ''),
  // The others look only at this installation's own user.
  ...(spec.policyName === 'sdewan-purpose' && {
    matchResources: { namespaceSelector: only(installation) },
  }),
});

const moveWebhook = (
  { clientConfig, namespaceSelector, ...webhook }: z.infer<typeof webhookSchema>,
  installation: Installation,
): object => ({
  ...webhook,
  clientConfig: { url: installation.url + clientConfig.service.path },
  namespaceSelector: {
    matchExpressions: [
      ...namespaceSelector.matchExpressions,
      ...only(installation).matchExpressions,
    ],
  },
});

const only = ({ systemNamespace }: Installation): { matchExpressions: object[] } => ({
  matchExpressions: [{ key: TEST_LABEL, operator: 'In', values: [systemNamespace] }],
});
