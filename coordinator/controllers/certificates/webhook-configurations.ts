/** Keeps in our webhook configurations the CAs to trust, and the paths to call. */
import * as z from 'zod';
import type { KubeClient } from '#shared/kube/client.ts';
import { objectSchema, type ResourceType } from '#shared/kube/objects.ts';
import { find } from '#shared/kube/owned.ts';

const webhookSchema = z.object({
  name: z.string(),
  clientConfig: z.object({
    caBundle: z.string().optional(),
    /** The URL of a coordinator that runs outside of the cluster; otherwise `service`. */
    url: z.string().optional(),
    service: z.object({ path: z.string().optional() }).optional(),
  }),
});
type Webhook = z.infer<typeof webhookSchema>;
const schema = objectSchema.extend({ webhooks: z.array(webhookSchema).default([]) });

const COMMON = { group: 'admissionregistration.k8s.io', version: 'v1', schema };
const CONFIGURATIONS: readonly ResourceType<z.infer<typeof schema>>[] = [
  { ...COMMON, plural: 'validatingwebhookconfigurations', kind: 'ValidatingWebhookConfiguration' },
  { ...COMMON, plural: 'mutatingwebhookconfigurations', kind: 'MutatingWebhookConfiguration' },
];

/** Below it the webhook's name as it is in its configuration, up to the first dot, and a token. */
export const ADMISSION_PATH = '/admission/';

/**
 * Resolves when both hold the bundle and paths that end in the token, and tells whether both are
 * there: one that is not installed is left alone, since the coordinator works without webhooks. By
 * index, not by server-side apply: an entry of ours that the installation no longer has would keep
 * a name and a CA, and the API server would refuse the rest.
 * @throws KubeError, also when another client wrote meanwhile: try again
 */
export const publishWebhooks = async (
  client: Pick<KubeClient, 'get' | 'patch'>,
  name: string,
  { bundle, token }: { bundle: string; token: string },
  signal: AbortSignal,
): Promise<boolean> => {
  let areThere = true;
  const caBundle = Buffer.from(bundle).toString('base64');
  for (const resource of CONFIGURATIONS) {
    const configuration = await find(client, resource, { name }, { signal });
    areThere &&= configuration !== undefined;
    const changes = (configuration?.webhooks ?? []).flatMap((webhook, index) =>
      changesOf(webhook, { caBundle, token }).map(([field, value]) => ({
        op: 'add',
        path: `/webhooks/${index}/clientConfig/${field}`,
        value,
      })),
    );
    if (configuration === undefined || changes.length === 0) continue;
    const { resourceVersion } = configuration.metadata;
    const body = [
      { op: 'test', path: '/metadata/resourceVersion', value: resourceVersion },
      ...changes,
    ];
    await client.patch(resource, { name }, { patch: { type: 'json', body }, signal });
  }
  return areThere;
};

/** Field of clientConfig and its value, of those that are not as they should be. */
const changesOf = (
  { name, clientConfig }: Webhook,
  { caBundle, token }: { caBundle: string; token: string },
): (readonly [field: string, value: string])[] => {
  const { service, url } = clientConfig;
  const path = `${ADMISSION_PATH}${name.split('.')[0]}/${token}`;
  const [server = ''] = url?.split(ADMISSION_PATH) ?? [];
  const wanted: (readonly [string, string, string | undefined])[] = [
    ['caBundle', caBundle, clientConfig.caBundle],
    ...(service ? [['service/path', path, service.path] as const] : []),
    ...(url === undefined ? [] : [['url', server + path, url] as const]),
  ];
  return wanted.filter(([, value, is]) => value !== is).map(([field, value]) => [field, value]);
};
