/** What a cluster has of CNFs and rules, as far as the user may see it. */
import * as z from 'zod';
import type { KubeClient } from '#shared/kube/client.ts';
import { isForbidden, isNotFound } from '#shared/kube/errors.ts';
import { objectSchema, type ResourceType, type RuleObject } from '#shared/kube/objects.ts';
import { resourceName } from '#shared/kube/path.ts';
import { INJECT_ANNOTATION } from '#shared/inject/annotations.ts';
import { AGENT_CONTAINER, NFN_NETWORK_ANNOTATION, PURPOSE_LABEL } from '#shared/names.ts';
import { cnfStatusResource, type CnfStatus } from '#shared/resources/cnf-status.ts';
import { kinds } from '#shared/resources/registry.ts';
import { podResource } from '../../cnf/workload.ts';
import { CannotTellError } from '../command.ts';

/** `namespace`: undefined for all. */
export type Lacking = {
  verb: 'list' | 'get' | 'create';
  resource: string;
  namespace: string | undefined;
};

export type CnfObject = {
  namespace: string;
  purpose: string;
  /** Undefined when it is not the coordinator's, or none is there yet. */
  status: CnfStatus | undefined;
};

export type CnfPod = {
  namespace: string;
  purpose: string;
  name: string;
  agentImage: string | undefined;
  /** Its owner wants no agent in it. */
  optedOut: boolean;
  /** Its annotation for Nodus. */
  networks: string | undefined;
};

export type ClusterFacts = {
  rules: readonly RuleObject[];
  cnfs: readonly CnfObject[];
  /** Undefined when they were not asked for, or may not be seen. */
  pods: readonly CnfPod[] | undefined;
  /** Rights that the user lacks. */
  lacking: readonly Lacking[];
  /** Kinds that this cluster does not have. */
  absent: readonly string[];
};

export type Asked = {
  /** Undefined: all. */
  namespace: string | undefined;
  withPods?: boolean;
};

/** Of 10,000 rules in one answer, the reading alone takes longer than a user waits for a request. */
const PAGE_SIZE = 500;

/** @throws CannotTellError when nothing can be seen; KubeError */
export const gather = async (
  client: KubeClient,
  { namespace, withPods = false }: Asked,
  signal: AbortSignal,
): Promise<ClusterFacts> => {
  const lacking: Lacking[] = [];
  const absent: string[] = [];
  /** Undefined when it cannot be seen. */
  const seen = async <T extends RuleObject>(
    resource: ResourceType<T>,
    labelSelector?: string,
  ): Promise<T[] | undefined> => {
    try {
      const selection = { namespace, labelSelector, pageSize: PAGE_SIZE, signal };
      return (await client.list(resource, selection)).items;
    } catch (error) {
      if (isForbidden(error))
        lacking.push({ verb: 'list', resource: resourceName(resource), namespace });
      else if (isNotFound(error)) absent.push(resource.kind);
      else throw error;
      return undefined;
    }
  };
  const [statuses, pods, ...lists] = await Promise.all([
    seen(cnfStatusResource),
    withPods ? seen(podResource, PURPOSE_LABEL) : undefined,
    ...kinds.map((kind) => seen(kind)),
  ]);
  if (absent.length === kinds.length + 1)
    throw new CannotTellError(
      'this cluster does not have the product: it knows none of its kinds; `kubectl apply -k deploy` installs it',
    );
  if (lists.every((list) => list === undefined) && statuses === undefined)
    throw new CannotTellError(rightsOf(lacking).join('; '));
  return {
    rules: lists.flatMap((list) => list ?? []),
    cnfs: (statuses ?? []).flatMap(({ metadata, status }) => {
      const purpose = metadata.labels?.[PURPOSE_LABEL];
      // ICN's one object for all CNFs has no purpose.
      return purpose === undefined ? [] : [{ namespace: metadata.namespace, purpose, status }];
    }),
    pods: pods?.map(podOf),
    lacking,
    absent,
  };
};

/** What to ask an administrator for, as few sentences as there are places. */
export const rightsOf = (lacking: readonly Lacking[]): string[] => {
  const groups = Map.groupBy(lacking, ({ verb, namespace }) => {
    const place = namespace === undefined ? 'in all namespaces' : `in namespace ${namespace}`;
    return JSON.stringify([verb, place]);
  });
  return [...groups].map(([key, group]) => {
    const [verb, place] = z.tuple([z.string(), z.string()]).parse(JSON.parse(key));
    const resources = group.map(({ resource }) => resource).sort();
    return `you may not ${verb} ${resources.join(', ')} ${place}`;
  });
};

export const purposeOf = ({ metadata }: RuleObject): string =>
  metadata.labels?.[PURPOSE_LABEL] ?? '';

const podSchema = objectSchema.extend({
  spec: z.looseObject({
    initContainers: z
      .array(z.looseObject({ name: z.string(), image: z.string().optional() }))
      .optional(),
  }),
});

const podOf = (object: RuleObject): CnfPod => {
  const { metadata, spec } = podSchema.parse(object);
  const agent = spec.initContainers?.find(({ name }) => name === AGENT_CONTAINER);
  return {
    namespace: metadata.namespace,
    purpose: purposeOf(object),
    name: metadata.name,
    agentImage: agent?.image,
    optedOut: metadata.annotations?.[INJECT_ANNOTATION] === 'false',
    networks: metadata.annotations?.[NFN_NETWORK_ANNOTATION],
  };
};
