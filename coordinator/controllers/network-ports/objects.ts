/** What is kept of pods and nodes, of which each user that may write pods can write any size. */
import * as z from 'zod';
import { fullIn } from '#shared/compile/networks.ts';
import {
  identityOf,
  objectSchema,
  resourceV1,
  type KubeObject,
  type ResourceType,
} from '#shared/kube/objects.ts';
import {
  NETWORKS_ANNOTATION,
  NFN_NETWORK_ANNOTATION,
  PORTS_GATE,
  PURPOSE_LABEL,
} from '#shared/names.ts';
import type { ManagedNetwork } from '#shared/resources/other-kinds/managed-network.ts';
import { own } from '#shared/util/own.ts';
import { shortened } from '#shared/util/shortened.ts';
import { controllerIn, podResource } from '../../sources/workload.ts';
import { multusEntriesIn, nodusEntriesIn } from '../../sources/second-addresses.ts';
import { asksOf, MAX_ASK_LENGTH, type Ask, type AskTexts } from './asks.ts';
import { OUT_OF_SERVICE } from './decide.ts';
import { keepIn, type Keep } from './keep-addresses.ts';

export type PresentAddresses = {
  name: string;
  interface: string;
  addresses: readonly string[];
  /** Where its CNI says it. */
  mac?: string | undefined;
};

export type PortPod = KubeObject & {
  /** While it waits. */
  texts: AskTexts;
  /** What it calls the networks that it is in, once it does not wait any more. */
  names: readonly string[];
  isCnf: boolean;
  /** Names of its scheduling gates, where ours is one. */
  gates: readonly string[];
  node: string | undefined;
  hasEnded: boolean;
  isGoing: boolean;
  owner: string | undefined;
  /** It asks for the addresses of the pod before it. */
  keep: Keep | undefined;
  /** What the CNI says that it has. */
  present: readonly PresentAddresses[];
};

export const isGated = ({ gates }: PortPod): boolean => gates.includes(PORTS_GATE);

/** A node runs it: no other pod can use an address. */
export const isRunning = (pod: PortPod): boolean =>
  pod.node !== undefined && !pod.hasEnded && !isGated(pod);

export const presentOf = (
  { present }: Pick<PortPod, 'present'>,
  { spec }: ManagedNetwork,
): readonly PresentAddresses[] => present.filter(({ name }) => spec.names.includes(name));

/** `schedulingGates` of the pod without ours. */
export const otherGates = ({ gates }: PortPod): { name: string }[] =>
  gates.filter((gate) => gate !== PORTS_GATE).map((name) => ({ name }));

/** Strict to what is read, of thousands at a start: what is loose is copied as well. */
const podSchema = objectSchema
  .extend({
    spec: z
      .object({
        nodeName: z.string().nullish(),
        schedulingGates: z.array(z.object({ name: z.string() })).nullish(),
      })
      .nullish(),
    status: z.object({ phase: z.string().nullish() }).nullish(),
  })
  .strip();

const ended = new Set(['Succeeded', 'Failed']);

export const portPods: ResourceType<PortPod> = {
  ...podResource,
  schema: podSchema.transform((pod): PortPod => {
    const { labels = {}, annotations = {}, deletionTimestamp, namespace } = pod.metadata;
    const gates = gatesIn(pod.spec?.schedulingGates ?? []);
    const node = pod.spec?.nodeName || undefined;
    const isWaiting = gates.length > 0;
    const controller = controllerIn(pod.metadata.ownerReferences);
    return {
      ...identityOf(pod),
      ...(isWaiting
        ? { texts: askTextsIn(annotations), names: [], present: [] }
        : { texts: {}, ...placesIn(annotations, namespace, node) }),
      isCnf: own(labels, PURPOSE_LABEL) !== undefined,
      gates,
      node,
      hasEnded: ended.has(pod.status?.phase ?? ''),
      isGoing: deletionTimestamp !== undefined,
      owner: ownerIn(controller?.uid),
      keep: keepIn(annotations, controller),
    };
  }),
};

/** Kubernetes' own uids have 36 characters; a NetworkPort takes 64 of what a pod's author wrote. */
const ownerIn = (uid: string | undefined): string | undefined =>
  uid !== undefined && uid.length <= 64 ? uid : undefined;

/** With more no pod is taken for one that waits. */
const MAX_GATES = 16;
/** None where ours is not among them. */
const gatesIn = (gates: readonly { name: string }[]): readonly string[] => {
  const names = gates.slice(0, MAX_GATES + 1).map(({ name }) => name);
  return names.length <= MAX_GATES && names.includes(PORTS_GATE) ? names : [];
};

type Annotations = Readonly<Record<string, string>>;

export const askTextsIn = (annotations: Annotations): AskTexts => ({
  nfn: shortened(own(annotations, NFN_NETWORK_ANNOTATION), MAX_ASK_LENGTH + 1),
  multus: shortened(own(annotations, NETWORKS_ANNOTATION), MAX_ASK_LENGTH + 1),
});

/** A pod that no node runs has no address, and users make any number of such. */
const placesIn = (
  annotations: Annotations,
  namespace: string,
  node: string | undefined,
): Pick<PortPod, 'names' | 'present'> => {
  const { nfn, multus } = askTextsIn(annotations);
  const nodus = asksOf({ nfn }, namespace);
  const present = node === undefined ? [] : presentIn(annotations, nodus, namespace);
  const named = [...nodus, ...asksOf({ multus }, namespace), ...present];
  return { names: [...new Set(named.map(({ name }) => name))], present };
};

const presentIn = (
  annotations: Annotations,
  nodus: readonly Ask[],
  namespace: string,
): PresentAddresses[] => [
  ...nodusEntriesIn(annotations).flatMap((entry) => {
    const name = nodus.find((ask) => ask.interface === entry.interface)?.name;
    return name === undefined
      ? []
      : [{ name, interface: entry.interface, addresses: entry.ip_address }];
  }),
  ...multusEntriesIn(annotations)
    .filter(({ ips }) => ips.length > 0)
    .map(({ name, interface: device, ips, mac }) => ({
      name: fullIn(namespace, name),
      interface: device ?? '',
      addresses: ips,
      mac,
    })),
];

/** It does not answer, and has no taint that says that nothing runs on it. */
export type PortNode = KubeObject & { isSilent: boolean };

export const portNodes: ResourceType<PortNode> = resourceV1(
  '',
  'nodes',
  'Node',
  objectSchema
    .extend({
      spec: z
        .looseObject({ taints: z.array(z.looseObject({ key: z.string() })).nullish() })
        .nullish(),
      status: z
        .looseObject({
          conditions: z.array(z.looseObject({ type: z.string(), status: z.string() })).nullish(),
        })
        .nullish(),
    })
    .transform(({ spec, status, ...node }): PortNode => ({
      ...identityOf(node),
      isSilent: !(
        status?.conditions?.some((one) => one.type === 'Ready' && one.status === 'True') ||
        spec?.taints?.some(({ key }) => key === OUT_OF_SERVICE)
      ),
    })),
);
