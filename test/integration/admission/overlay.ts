/**
 * What `kubectl apply -k deploy` installs, moved so that several can live in one cluster: another
 * system namespace, a suffix on names that are of the whole cluster, webhooks by URL (the process
 * kubelet has no Services), and an eye only for namespaces with the test's label.
 */
import type { Cluster } from 'kind-test-harness';
import * as z from 'zod';
import { installedObjects, SYSTEM_NAMESPACE } from '../../stack/installation.ts';

/** The coordinator is a process of the test, and CRDs are the same for all. */
const NOT_MOVED = new Set(['Namespace', 'CustomResourceDefinition', 'Service', 'Deployment']);
export const TEST_LABEL = 'sdewan-test';

export type Installation = {
  /** Stands for `sdewan-system`, and is the value of the test's label. */
  systemNamespace: string;
  /** `https://127.0.0.1:port` of the coordinator. */
  url: string;
  /** The timeout of webhooks that fail open; undefined: as in the manifests. */
  patienceSeconds?: number | undefined;
};

const selectorSchema = z.looseObject({ matchExpressions: z.array(z.unknown()).default([]) });
const webhookSchema = z.looseObject({
  failurePolicy: z.string(),
  timeoutSeconds: z.int(),
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
type Moved = Pick<Manifest, 'kind' | 'metadata'>;

export const manifestsOf = async (
  cluster: Cluster,
  installation: Installation,
): Promise<Moved[]> => {
  const objects = await installedObjects(cluster);
  const text = JSON.stringify(objects.filter(({ kind }) => !NOT_MOVED.has(kind)));
  const moved: unknown = JSON.parse(
    text.replaceAll(SYSTEM_NAMESPACE, installation.systemNamespace),
  );
  return z
    .array(manifestSchema)
    .parse(moved)
    .map((manifest) => move(manifest, installation));
};

export const webhookConfigurationOf = (systemNamespace: string): string =>
  `sdewan-coordinator-${systemNamespace}`;

const CLUSTER_SCOPED = /^(Cluster|Validating|Mutating)/;

const move = (manifest: Manifest, installation: Installation): Moved => {
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
  // These look only at this installation's own user.
  ...(!spec.policyName?.startsWith('sdewan-coordinator') && {
    matchResources: { namespaceSelector: only(installation) },
  }),
});

const moveWebhook = (
  { namespaceSelector, ...webhook }: z.infer<typeof webhookSchema>,
  { patienceSeconds, ...installation }: Installation,
): object => ({
  ...webhook,
  ...(patienceSeconds !== undefined && { timeoutSeconds: patienceSeconds }),
  clientConfig: { url: installation.url },
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
