/** Writes the status of CNFDeployments: at once what others rest on; words now and then. */
import { isDeepStrictEqual } from 'node:util';
import type { KubeClient } from '#shared/kube/client.ts';
import { replaceStatus } from '#shared/kube/fenced.ts';
import {
  cnfDeploymentResource,
  type CnfDeployment,
  type CnfDeploymentStatus,
} from '#shared/resources/other-kinds/cnf-deployment.ts';
import type { Clock } from '#shared/runtime/clock.ts';
import { keyOf } from './deployment.ts';
import type { WrittenDeployment } from './chosen-template.ts';
import { isNear } from './distances.ts';
import type { UnansweredWrites } from './unanswered.ts';

/** Between two writes of a status in which only words and counts differ, at rest. */
const WORDS_MS = 2_000;
/** The same during a roll-out, and for how long they must differ: most change a moment later. */
const ROLLING_WORDS_MS = 10_000;
const BRIEF_MS = 1_000;

export type StatusWriter = ReturnType<typeof createStatusWriter>;

export const createStatusWriter = ({
  client,
  clock,
  writes,
}: {
  client: KubeClient;
  clock: Pick<Clock, 'monotonic'>;
  writes: UnansweredWrites;
}) => {
  const saidAt = new Map<string, number>();
  /** Since when words and counts differ from those that were said last. */
  const differsSince = new Map<string, number>();
  /**
   * What the status is to say of the Deployment with its next write. A Deployment that a
   * coordinator wrote and did not get to say so of is written again.
   */
  const written = new Map<string, WrittenDeployment>();

  /**
   * In how many milliseconds it is to be said, since only words and counts have changed; undefined:
   * nothing is left to say. `tell`: what Events and figures have to say of it.
   */
  const say = async (
    cnf: CnfDeployment,
    status: CnfDeploymentStatus,
    { tell, signal }: { tell: () => void; signal: AbortSignal },
  ): Promise<number | undefined> => {
    const key = keyOf(cnf);
    const waitMs = written.has(key) ? 0 : wordsWaitMs(cnf, status);
    if (waitMs === undefined) differsSince.delete(key);
    if (waitMs !== 0) return waitMs;
    const fence = { client, resource: cnfDeploymentResource, object: cnf };
    await writes.andThen(cnf, () => replaceStatus(fence, status, { signal }), {
      tookEffect: (after) => isDeepStrictEqual(after.status, status),
      follow: () => {
        written.delete(key);
        differsSince.delete(key);
        saidAt.set(key, clock.monotonic());
        tell();
      },
    });
    return undefined;
  };

  /** Undefined: nothing differs; 0: it is to be said now. */
  const wordsWaitMs = (cnf: CnfDeployment, status: CnfDeploymentStatus): number | undefined => {
    if (isDeepStrictEqual(status, cnf.status)) return undefined;
    if (!isDeepStrictEqual(withoutWords(status), withoutWords(cnf.status ?? {}))) return 0;
    const key = keyOf(cnf);
    const now = clock.monotonic();
    const since = differsSince.get(key) ?? now;
    differsSince.set(key, since);
    const last = saidAt.get(key) ?? -Infinity;
    const isResting = status.stage === 'Current' || status.stage === 'Failed';
    const dueAt = isResting ? last + WORDS_MS : Math.max(last + ROLLING_WORDS_MS, since + BRIEF_MS);
    return Math.max(0, dueAt - now);
  };

  return {
    say,
    note: (cnf: CnfDeployment, deployment: WrittenDeployment) =>
      written.set(keyOf(cnf), deployment),
    /** With what its status is to say of the Deployment. */
    withNoted: (cnf: CnfDeployment): CnfDeployment => {
      const deployment = written.get(keyOf(cnf));
      return deployment ? { ...cnf, status: { ...cnf.status, deployment } } : cnf;
    },
    forget: (key: string): void => {
      for (const known of [saidAt, differsSince, written]) known.delete(key);
    },
    clear: () => written.clear(),
  };
};

/** Nothing rests on what is left out. Between Staged and Connected nothing is done either. */
const withoutWords = (status: CnfDeploymentStatus): object => {
  const { waitsFor: _waits, message: _message, excused: _excused, ...counts } = status;
  const { inSyncReplicas: _in, progressingReplicas: _is, unhealthyReplicas: _un, ...more } = counts;
  const { replicas: _replicas, readyReplicas: _ready, stage = '', stageTime, ...rest } = more;
  const isStaged = stage === 'Staged' || stage === 'Connected';
  return {
    ...rest,
    ...(!isStaged && { stage, stageTime }),
    distances: rest.distances?.filter(isNear).map(({ confirmed: _confirmed, ...placed }) => placed),
    conditions: rest.conditions?.map(({ type, status: is, lastTransitionTime }) => ({
      type,
      is,
      lastTransitionTime,
    })),
  };
};
