/** Which attachments of Multus take the addresses and MACs that a pod asks for. */
import * as z from 'zod';
import type { KubeClient } from '#shared/kube/client.ts';
import { isForbidden, isMalformed, isNotFound } from '#shared/kube/errors.ts';
import { objectSchema, resourceV1 } from '#shared/kube/objects.ts';
import type { Clock } from '#shared/runtime/clock.ts';
import { jsonIn } from '#shared/util/json.ts';
import { parseUntrusted } from '#shared/util/untrusted.ts';

/** For so long an attachment is taken for as it was. */
const ATTACHMENT_MS = 5_000;

export type Attachments = {
  /** `name`: with its namespace. @throws KubeError */
  read: (name: string, signal: AbortSignal) => Promise<void>;
  /** As it was read, as the end of a sentence; undefined: it takes both. */
  lacks: (name: string) => string | undefined;
};

export const createAttachments = (
  client: Pick<KubeClient, 'get'>,
  clock: Pick<Clock, 'monotonic'>,
): Attachments => {
  const known = new Map<string, { text: string | undefined; at: number }>();
  return {
    read: async (name, signal) => {
      const at = clock.monotonic();
      if ((known.get(name)?.at ?? -Infinity) + ATTACHMENT_MS > at) return;
      known.set(name, { text: await lacksOf(client, name, signal), at });
    },
    lacks: (name) => known.get(name)?.text,
  };
};

const attachmentSchema = objectSchema.extend({
  spec: z.looseObject({ config: z.string().max(65_536).nullish() }).nullish(),
});
const attachmentDefinitions = resourceV1(
  'k8s.cni.cncf.io',
  'network-attachment-definitions',
  'NetworkAttachmentDefinition',
  attachmentSchema,
);

const pluginSchema = z.looseObject({
  capabilities: z
    .looseObject({ ips: z.boolean().optional(), mac: z.boolean().optional() })
    .optional(),
});
const configSchema = pluginSchema.extend({ plugins: z.array(pluginSchema).optional() });

/**
 * What an attachment does not take, as the end of a sentence; undefined: it takes both. @throws
 * KubeError
 */
const lacksOf = async (
  client: Pick<KubeClient, 'get'>,
  attachment: string,
  signal: AbortSignal,
): Promise<string | undefined> => {
  const [namespace = '', name = ''] = attachment.split('/');
  try {
    const { spec } = await client.get(attachmentDefinitions, { namespace, name }, { signal });
    const config = parseUntrusted(configSchema, jsonIn(spec?.config ?? '')).data;
    const plugins = config ? [config, ...(config.plugins ?? [])] : [];
    const missing = (['ips', 'mac'] as const).filter(
      (one) => !plugins.some(({ capabilities }) => capabilities?.[one] === true),
    );
    return missing.length === 0
      ? undefined
      : `does not declare ${missing.map((one) => `capability ${one}`).join(' and ')}`;
  } catch (error) {
    if (isNotFound(error)) return 'is not there';
    if (isForbidden(error) || isMalformed(error))
      return `cannot be read by the coordinator: ${error.message}`;
    throw error;
  }
};
