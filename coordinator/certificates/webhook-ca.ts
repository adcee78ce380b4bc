/** Keeps the caBundle of our webhook configurations equal to the CAs that clients have to trust. */
import type { KubeClient } from '#shared/kube/client.ts';
import { isNotFound } from '#shared/kube/errors.ts';
import type { KubeObject, ResourceType } from '#shared/kube/objects.ts';

const GROUP = { group: 'admissionregistration.k8s.io', version: 'v1' };
const CONFIGURATIONS: readonly ResourceType[] = [
  { ...GROUP, plural: 'validatingwebhookconfigurations', kind: 'ValidatingWebhookConfiguration' },
  { ...GROUP, plural: 'mutatingwebhookconfigurations', kind: 'MutatingWebhookConfiguration' },
];

type Configuration = KubeObject & {
  webhooks?: { name: string; clientConfig: { caBundle?: string } }[];
};

/**
 * Resolves when both hold the bundle. One that is not installed is left alone: the coordinator then works without webhooks.
 * @throws KubeError, also when somebody else wrote meanwhile: try again
 */
export const publishWebhookCa = async (
  client: Pick<KubeClient, 'get' | 'patch'>,
  name: string,
  bundle: string,
  signal: AbortSignal,
): Promise<void> => {
  const caBundle = Buffer.from(bundle).toString('base64');
  for (const resource of CONFIGURATIONS) {
    const configuration = await client
      .get<Configuration>(resource, { name }, { signal })
      .catch((error: unknown) => {
        if (isNotFound(error)) return undefined;
        throw error;
      });
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
