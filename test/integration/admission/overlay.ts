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
  metadata: z.looseObject({ name: z.string() }),
  webhooks: z.array(webhookSchema).optional(),
  spec: z.looseObject({}).optional(),
});
type Manifest = z.infer<typeof manifestSchema>;

export const manifestsOf = (installation: Installation): unknown[] =>
  FILES.flatMap((file) => read(file, installation)).map((manifest) => ({
    ...manifest,
    ...(manifest.webhooks && {
      webhooks: manifest.webhooks.map((webhook) => moveWebhook(webhook, installation)),
    }),
    ...(manifest.metadata.name.startsWith('sdewan-purpose') &&
      manifest.kind === 'ValidatingAdmissionPolicyBinding' && {
        spec: { ...manifest.spec, matchResources: { namespaceSelector: only(installation) } },
      }),
  }));

/** Names of ClusterRoles and policies are not used for anything else, so text is safe to replace. */
const read = (file: string, { systemNamespace }: Installation): Manifest[] => {
  const text = readFileSync(join(DEPLOY, file), 'utf8')
    .replaceAll('sdewan-system', systemNamespace)
    .replaceAll(
      /\b(sdewan-purpose|sdewan-coordinator-(admission|bindings|objects))\b/g,
      `$1-${systemNamespace}`,
    );
  return parseAllDocuments(text).map((document) => {
    const manifest = manifestSchema.parse(document.toJS());
    if (manifest.kind.endsWith('WebhookConfiguration'))
      manifest.metadata.name = webhookConfigurationOf(systemNamespace);
    if (manifest.metadata.name.startsWith('sdewan-coordinator-admission'))
      return manifestSchema.parse(
        JSON.parse(
          JSON.stringify(manifest).replace(
            '"resourceNames":["sdewan-coordinator"]',
            `"resourceNames":["${webhookConfigurationOf(systemNamespace)}"]`,
          ),
        ),
      );
    return manifest;
  });
};

export const webhookConfigurationOf = (systemNamespace: string): string =>
  `sdewan-coordinator-${systemNamespace}`;

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
