/** Keeps the caBundle of our webhook configurations equal to the CAs that clients have to trust. */
import * as z from 'zod';
import type { KubeClient } from '#shared/kube/client.ts';
import { objectSchema, type ResourceType } from '#shared/kube/objects.ts';
import { find } from '#shared/kube/owned.ts';

const schema = objectSchema.extend({
  webhooks: z
    .array(z.object({ clientConfig: z.object({ caBundle: z.string().optional() }) }))
    .default([]),
});

const COMMON = { group: 'admissionregistration.k8s.io', version: 'v1', schema };
const CONFIGURATIONS: readonly ResourceType<z.infer<typeof schema>>[] = [
  { ...COMMON, plural: 'validatingwebhookconfigurations', kind: 'ValidatingWebhookConfiguration' },
  { ...COMMON, plural: 'mutatingwebhookconfigurations', kind: 'MutatingWebhookConfiguration' },
];

/**
 * Resolves when both hold the bundle. One that is not installed is left alone: the coordinator then works without webhooks.
 * By index, not by server-side apply: an entry of ours that the installation no longer has would keep a name and a CA, and the API server
 * would refuse the rest. @throws KubeError, also when somebody else wrote meanwhile: try again
 */
export const publishWebhookCa = async (
  client: Pick<KubeClient, 'get' | 'patch'>,
  name: string,
  bundle: string,
  signal: AbortSignal,
): Promise<void> => {
  const caBundle = Buffer.from(bundle).toString('base64');
  for (const resource of CONFIGURATIONS) {
    const configuration = await find(client, resource, { name }, { signal });
    const stale = (configuration?.webhooks ?? [])
      .map(({ clientConfig }, index) => ({ index, stale: clientConfig.caBundle !== caBundle }))
      .filter((webhook) => webhook.stale);
    if (configuration === undefined || stale.length === 0) continue;
    const { resourceVersion } = configuration.metadata;
    const body = [
      { op: 'test', path: '/metadata/resourceVersion', value: resourceVersion },
      ...stale.map(({ index }) => ({
        op: 'add',
        path: `/webhooks/${index}/clientConfig/caBundle`,
        value: caBundle,
      })),
    ];
    await client.patch(resource, { name }, { patch: { type: 'json', body }, signal });
  }
};
