/** What a roll-out remembers, as the status of its CNFDeployment keeps it. Pure. */
import type {
  CnfDeployment,
  CnfDeploymentStatus,
} from '#shared/resources/other-kinds/cnf-deployment.ts';
import type { Distances } from './distances.ts';
import type { FleetPod } from './pod.ts';
import type { Memory } from './decide.ts';

type Kept = Pick<
  CnfDeploymentStatus,
  'currentRevision' | 'stagedRevision' | 'failedRevision' | 'staged' | 'failed'
>;

export const distancesIn = ({ status = {} }: CnfDeployment): Distances =>
  new Map(
    (status.distances ?? []).map(({ pod, distance, since }) => [
      pod,
      { distance, since: Date.parse(since) },
    ]),
  );

/** In the order of distances. */
export const distancesKept = (
  distances: Distances,
  pods: readonly FleetPod[],
): Pick<CnfDeploymentStatus, 'active' | 'distances'> => {
  const placed = pods
    .flatMap((pod) => {
      const at = distances.get(pod.name);
      if (at === undefined) return [];
      const confirmed = pod.actual === at.distance;
      const { distance } = at;
      return [{ pod: pod.name, distance, since: momentOf(at.since), confirmed }];
    })
    .toSorted((one, other) => one.distance - other.distance || (one.pod < other.pod ? -1 : 1));
  const active = placed.find(({ distance }) => distance === 0)?.pod;
  return {
    ...(active !== undefined && { active }),
    ...(placed.length > 0 && { distances: placed }),
  };
};

/** Without what failed, when another template than that is asked for. */
export const memoryOf = ({ status = {} }: CnfDeployment, asked: string): Memory => {
  const { currentRevision: current, stagedRevision, failedRevision, staged, failed } = status;
  return {
    ...(current !== undefined && { current }),
    ...(stagedRevision !== undefined &&
      staged !== undefined && {
        staged: {
          set: stagedRevision,
          since: Date.parse(staged.since),
          ...timeOf('swappedAt', staged.swappedTime),
          ...timeOf('handedOverAt', staged.handedOverTime),
          ...timeOf('readyAt', staged.readyTime),
          ...timeOf('troubledAt', staged.troubledTime),
        },
      }),
    ...(failedRevision !== undefined &&
      failed?.template === asked && { failed: { set: failedRevision, why: failed.message } }),
  };
};

/** `asked`: hash of the template that the staged set has. */
export const keptOf = ({ current, staged, failed }: Memory, asked: string): Kept => ({
  ...(current !== undefined && { currentRevision: current }),
  ...(staged && {
    stagedRevision: staged.set,
    staged: {
      since: momentOf(staged.since),
      ...momentIf('swappedTime', staged.swappedAt),
      ...momentIf('handedOverTime', staged.handedOverAt),
      ...momentIf('readyTime', staged.readyAt),
      ...momentIf('troubledTime', staged.troubledAt),
    },
  }),
  ...(failed && {
    failedRevision: failed.set,
    failed: { template: asked, message: failed.why.slice(0, MAX_MESSAGE) },
  }),
});

const MAX_MESSAGE = 2_048;

const momentOf = (wallMs: number): string => new Date(wallMs).toISOString();

const momentIf = (name: string, wallMs: number | undefined): Record<string, string> =>
  wallMs === undefined ? {} : { [name]: momentOf(wallMs) };

const timeOf = (name: string, moment: string | undefined): Record<string, number> =>
  moment === undefined ? {} : { [name]: Date.parse(moment) };
