/** What a cluster has of CNFs and rules, as far as the user may see it. */
import * as z from 'zod';
import { networkTextsIn } from '#shared/compile/networks.ts';
import type { KubeClient } from '#shared/kube/client.ts';
import { objectSchema, type RuleObject } from '#shared/kube/objects.ts';
import { INJECT_ANNOTATION } from '#shared/inject/annotations.ts';
import { AGENT_CONTAINER, PURPOSE_LABEL } from '#shared/names.ts';
import { cnfDeploymentResource } from '#shared/resources/other-kinds/cnf-deployment.ts';
import { cnfStatusResource } from '#shared/resources/other-kinds/cnf-status.ts';
import { kinds } from '#shared/resources/registry.ts';
import { podResource } from '../../sources/workload.ts';
import { CannotTellError } from '../command.ts';
import { createLook } from './lists.ts';
import { rightsOf } from '../../views/rights.ts';
import { purposeOf, type ClusterFacts, type VisiblePod } from '../../views/cluster-facts.ts';

export type Asked = {
  /** Undefined: all. */
  namespace: string | undefined;
  withPods?: boolean;
  withRollOuts?: boolean;
};

/** @throws CannotTellError when nothing can be seen; KubeError */
export const gather = async (
  client: KubeClient,
  { namespace, withPods = false, withRollOuts = false }: Asked,
  signal: AbortSignal,
): Promise<ClusterFacts> => {
  const { list, lacking, absent } = createLook({ client, signal });
  const [statuses, pods, rollOuts, ...lists] = await Promise.all([
    list(cnfStatusResource, { namespace }),
    withPods ? list(podResource, { namespace, labelSelector: PURPOSE_LABEL }) : undefined,
    withRollOuts ? list(cnfDeploymentResource, { namespace }) : undefined,
    ...kinds.map((kind) => list(kind, { namespace })),
  ]);
  if (absent.length > kinds.length)
    throw new CannotTellError(
      'this cluster does not have the product: it knows none of its kinds; `kubectl apply -k deploy` installs it',
    );
  if (lists.every((one) => one === undefined) && statuses === undefined)
    throw new CannotTellError(rightsOf(lacking).join('; '));
  return {
    rules: lists.flatMap((one) => one ?? []),
    cnfs: (statuses ?? []).flatMap(({ metadata, status }) => {
      const purpose = metadata.labels?.[PURPOSE_LABEL];
      // ICN's one object for all CNFs has no purpose.
      return purpose === undefined ? [] : [{ namespace: metadata.namespace, purpose, status }];
    }),
    pods: pods?.map(podOf),
    ...(withRollOuts && { rollOuts }),
    lacking,
    absent,
  };
};

const podSchema = objectSchema.extend({
  spec: z.looseObject({
    initContainers: z
      .array(z.looseObject({ name: z.string(), image: z.string().optional() }))
      .optional(),
  }),
});

const podOf = (object: RuleObject): VisiblePod => {
  const { metadata, spec } = podSchema.parse(object);
  const agent = spec.initContainers?.find(({ name }) => name === AGENT_CONTAINER);
  return {
    namespace: metadata.namespace,
    purpose: purposeOf(object),
    name: metadata.name,
    agentImage: agent?.image,
    optedOut: metadata.annotations?.[INJECT_ANNOTATION] === 'false',
    networks: networkTextsIn(metadata.annotations, metadata.namespace),
  };
};
