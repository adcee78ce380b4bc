/**
 * A CNFDeployment as one watch shows it: through which stages it goes, and which pod is nearest.
 */
import type { Cluster, KubeObject } from 'kind-test-harness';
import * as z from 'zod';

const schema = z.object({
  status: z
    .object({
      stage: z.string().optional(),
      distances: z
        .array(z.object({ pod: z.string(), distance: z.number(), confirmed: z.boolean() }))
        .default([]),
    })
    .default({ distances: [] }),
});

export type FleetSeen = {
  /** In their order, each time that it changed. */
  stages: readonly string[];
  /** How many pods have been at distance 0 at once, each with its agent's word. */
  nearestAtOnce: () => number;
  /** Called at each change from now on. */
  onStage: (seen: (stage: string) => void) => void;
};

/** Watches all in the namespace. Until the cluster is stopped. */
export const watchFleet = async ({ api }: Cluster, namespace: string): Promise<FleetSeen> => {
  const stages: string[] = [];
  let nearest = 0;
  let tell: (stage: string) => void = () => {};
  const path = `/apis/fleet.sdewan.akraino.org/v1alpha1/namespaces/${namespace}/cnfdeployments`;
  await api.watch<KubeObject>(path, {
    onChange: (object) => {
      const { stage, distances } = schema.parse(object).status;
      const both = distances.filter(({ distance, confirmed }) => distance === 0 && confirmed);
      nearest = Math.max(nearest, both.length);
      if (stage === undefined || stage === stages.at(-1)) return;
      stages.push(stage);
      tell(stage);
    },
    onDelete: () => {},
  });
  return {
    stages,
    nearestAtOnce: () => nearest,
    onStage: (seen) => {
      tell = seen;
    },
  };
};
