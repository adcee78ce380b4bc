/** What is kept of pods and nodes, of which each user that may write pods can write any size. */
import * as z from 'zod';
import type { KubeClient } from '#shared/kube/client.ts';
import { isForbidden, isNotFound } from '#shared/kube/errors.ts';
import {
  identityOf,
  objectSchema,
  resourceV1,
  type KubeObject,
  type ResourceType,
} from '#shared/kube/objects.ts';
import {
  NETWORKS_ANNOTATION,
  NETWORK_STATUS_ANNOTATION,
  NFN_NETWORK_ANNOTATION,
  OVN_INTERFACES_ANNOTATION,
  PORTS_GATE,
  PURPOSE_LABEL,
} from '#shared/names.ts';
import { jsonIn } from '#shared/util/json.ts';
import { own } from '#shared/util/own.ts';
import { controllerFactsOf, podResource } from '../../sources/workload.ts';
import { asksIn, MAX_TEXT, type AskTexts } from './asks.ts';

export type PresentAddresses = { name: string; interface: string; addresses: readonly string[] };

export type PortPod = KubeObject & {
  texts: AskTexts;
  isCnf: boolean;
  /** Names of its scheduling gates. */
  gates: readonly string[];
  node: string | undefined;
  hasEnded: boolean;
  isGoing: boolean;
  owner: string | undefined;
  /** What the CNI says that it has. */
  present: readonly PresentAddresses[];
};

export const isGated = ({ gates }: PortPod): boolean => gates.includes(PORTS_GATE);

const podSchema = objectSchema.extend({
  spec: z
    .looseObject({
      nodeName: z.string().nullish(),
      schedulingGates: z.array(z.looseObject({ name: z.string() })).nullish(),
    })
    .nullish(),
  status: z.looseObject({ phase: z.string().nullish() }).nullish(),
});

const ended = new Set(['Succeeded', 'Failed']);

export const portPods: ResourceType<PortPod> = {
  ...podResource,
  schema: podSchema.transform((pod): PortPod => {
    const { labels = {}, annotations = {}, deletionTimestamp, namespace } = pod.metadata;
    const texts = askTextsIn(annotations);
    return {
      ...identityOf(pod),
      texts,
      isCnf: own(labels, PURPOSE_LABEL) !== undefined,
      gates: pod.spec?.schedulingGates?.map(({ name }) => name) ?? [],
      node: pod.spec?.nodeName || undefined,
      hasEnded: ended.has(pod.status?.phase ?? ''),
      isGoing: deletionTimestamp !== undefined,
      owner: controllerFactsOf(pod).controller?.uid,
      present: presentIn(annotations, texts, namespace),
    };
  }),
};

type Annotations = Readonly<Record<string, string>>;

const textIn = (annotations: Annotations, name: string): string | undefined => {
  const text = own(annotations, name);
  return text !== undefined && text.length > MAX_TEXT ? undefined : text;
};

export const askTextsIn = (annotations: Annotations): AskTexts => ({
  nfn: textIn(annotations, NFN_NETWORK_ANNOTATION),
  multus: textIn(annotations, NETWORKS_ANNOTATION),
});

const address = z.string().max(64);
const ovnSchema = z
  .array(
    z.looseObject({
      // A list since Nodus 5.2.
      ip_address: z.union([address.transform((one) => [one]), z.array(address).max(8)]),
      interface: z.string().max(64),
    }),
  )
  .max(32);
const statusSchema = z
  .array(
    z.looseObject({
      name: z.string().max(317),
      interface: z.string().max(64).default(''),
      default: z.boolean().optional(),
      ips: z.array(address).max(8).default([]),
    }),
  )
  .max(32);

const presentIn = (
  annotations: Annotations,
  texts: AskTexts,
  namespace: string,
): PresentAddresses[] => {
  const ovn = ovnSchema.safeParse(jsonIn(textIn(annotations, OVN_INTERFACES_ANNOTATION) ?? ''));
  const status = statusSchema.safeParse(
    jsonIn(textIn(annotations, NETWORK_STATUS_ANNOTATION) ?? ''),
  );
  const read = asksIn({ nfn: texts.nfn }, namespace);
  const asks = 'asks' in read ? read.asks : [];
  return [
    ...(ovn.data ?? []).flatMap((entry) => {
      const name = asks.find((ask) => ask.interface === entry.interface)?.name;
      return name === undefined
        ? []
        : [{ name, interface: entry.interface, addresses: entry.ip_address }];
    }),
    ...(status.data ?? [])
      .filter((entry) => entry.default !== true && entry.ips.length > 0)
      .map(({ name, interface: device, ips }) => ({
        name: name.includes('/') ? name : `${namespace}/${name}`,
        interface: device,
        addresses: ips,
      })),
  ];
};

export type PortNode = KubeObject & { isReady: boolean };

export const portNodes: ResourceType<PortNode> = resourceV1(
  '',
  'nodes',
  'Node',
  objectSchema
    .extend({
      status: z
        .looseObject({
          conditions: z.array(z.looseObject({ type: z.string(), status: z.string() })).nullish(),
        })
        .nullish(),
    })
    .transform(({ status, ...node }): PortNode => ({
      ...identityOf(node),
      isReady:
        status?.conditions?.some((one) => one.type === 'Ready' && one.status === 'True') ?? false,
    })),
);

const attachmentSchema = objectSchema.extend({
  spec: z.looseObject({ config: z.string().max(65_536).nullish() }).nullish(),
});
const attachments = resourceV1(
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
export const lacksOf = async (
  client: Pick<KubeClient, 'get'>,
  attachment: string,
  signal: AbortSignal,
): Promise<string | undefined> => {
  const [namespace = '', name = ''] = attachment.split('/');
  try {
    const { spec } = await client.get(attachments, { namespace, name }, { signal });
    const config = configSchema.safeParse(jsonIn(spec?.config ?? '')).data;
    const plugins = config ? [config, ...(config.plugins ?? [])] : [];
    const missing = (['ips', 'mac'] as const).filter(
      (one) => !plugins.some(({ capabilities }) => capabilities?.[one] === true),
    );
    return missing.length === 0
      ? undefined
      : `does not declare ${missing.map((one) => `capability ${one}`).join(' and ')}`;
  } catch (error) {
    if (isNotFound(error)) return 'is not there';
    if (isForbidden(error)) return `cannot be read by the coordinator: ${error.message}`;
    throw error;
  }
};
