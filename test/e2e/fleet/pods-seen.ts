/**
 * The pods of a CNFDeployment as one watch shows them: which has the active one's label, and when.
 */
import type { Cluster, KubeObject } from 'kind-test-harness';
import * as z from 'zod';
import { podsPath } from '../../stack/collections.ts';

const podSchema = z.object({
  metadata: z.object({
    name: z.string(),
    uid: z.string(),
    labels: z.record(z.string(), z.string()),
    deletionTimestamp: z.string().optional(),
  }),
  status: z.object({
    podIP: z.string().optional(),
    conditions: z.array(z.object({ type: z.string(), status: z.string() })).optional(),
  }),
});

export type SeenPod = {
  name: string;
  uid: string;
  ip: string;
  ready: boolean;
  active: boolean;
  ending: boolean;
};

export type Counted = {
  /** That were ready at once. */
  fewestReady: number;
  /** Which pods there were then. */
  whenFewest: readonly SeenPod[];
  /** That were there and not ending. */
  most: number;
};

export type PodsSeen = {
  /** What each pod became, with the time, in their order. */
  changes: readonly string[];
  /** That have the label and are ready. */
  active: () => SeenPod[];
  ready: () => SeenPod[];
  /** That a Service can reach: by the label or by being ready. */
  reachable: () => SeenPod[];
  /** From now on, as far as this watch shows every moment. */
  count: () => Counted;
  /**
   * For how long no pod had the label, by this one watch: from the moment at which that pod was
   * gone or not ready to that at which another one had it and was ready. Undefined: not yet.
   */
  takeoverMs: (uid: string) => { ms: number; by: SeenPod } | undefined;
  /** How often that pod was not ready, or gone, after it had been ready, or was first seen so. */
  losses: (uid: string) => number;
};

const WORDS = ['ready', 'active', 'ending'] as const;
const wordsFor = (pod: SeenPod): string =>
  WORDS.filter((word) => pod[word]).join(' ') || 'neither ready nor ending';

/** Until the cluster is stopped. */
export const watchPods = async (
  { api }: Cluster,
  namespace: string,
  purpose: string,
): Promise<PodsSeen> => {
  const pods = new Map<string, SeenPod>();
  const lostAt = new Map<string, number>();
  /** By the uid of a pod that was lost, which may be ready again since. */
  const takeovers = new Map<string, { ms: number; by: SeenPod }>();
  const losses = new Map<string, number>();
  /** By the uid of a pod: since when it is active and ready. */
  const activeAt = new Map<string, number>();
  const counts: Counted[] = [];
  const changes: string[] = [];
  const tell = (uid: string, now: SeenPod | undefined): void => {
    const name = (now ?? pods.get(uid))?.name;
    changes.push(`${new Date().toISOString()} ${name}: ${now ? wordsFor(now) : 'gone'}`);
  };
  /** One that is ready again without the label was lost all the same. */
  const noteLoss = (uid: string, now: SeenPod | undefined, at: number): void => {
    if (now?.ready && now.active) {
      lostAt.delete(uid);
      takeovers.delete(uid);
    } else if (!now?.ready && !lostAt.has(uid)) {
      lostAt.set(uid, at);
      losses.set(uid, (losses.get(uid) ?? 0) + 1);
    }
  };
  const noteTakeovers = (at: number): void => {
    for (const [lost, from] of lostAt) {
      const by = ready().find((pod) => pod.active && pod.uid !== lost);
      if (!by || takeovers.has(lost)) continue;
      takeovers.set(lost, { ms: Math.max(0, (activeAt.get(by.uid) ?? at) - from), by });
    }
  };
  const note = (uid: string, now: SeenPod | undefined): void => {
    const at = performance.now();
    tell(uid, now);
    if (now) pods.set(uid, now);
    else pods.delete(uid);
    noteLoss(uid, now, at);
    if (!now?.ready || !now.active) activeAt.delete(uid);
    else if (!activeAt.has(uid)) activeAt.set(uid, at);
    noteTakeovers(at);
    for (const counted of counts) {
      if (ready().length < counted.fewestReady) {
        counted.fewestReady = ready().length;
        counted.whenFewest = [...pods.values()];
      }
      counted.most = Math.max(counted.most, stay().length);
    }
  };
  const ready = (): SeenPod[] => [...pods.values()].filter((pod) => pod.ready);
  const stay = (): SeenPod[] => [...pods.values()].filter((pod) => !pod.ending);
  await api.watch<KubeObject>(podsPath(namespace), {
    onChange: (object) => {
      const { metadata, status } = podSchema.parse(object);
      if (metadata.labels['sdewanPurpose'] !== purpose) return;
      const { name, uid, labels } = metadata;
      const isReady = status.conditions?.some(
        (each) => each.type === 'Ready' && each.status === 'True',
      );
      note(uid, {
        name,
        uid,
        ip: status.podIP ?? '',
        ready: isReady === true && metadata.deletionTimestamp === undefined,
        ending: metadata.deletionTimestamp !== undefined,
        active: labels['sdewan.akraino.org/active'] === 'true',
      });
    },
    onDelete: ({ metadata }) => note(z.string().parse(metadata.uid), undefined),
  });
  return {
    changes,
    ready,
    reachable: () => [...pods.values()].filter((pod) => pod.ready || pod.active),
    count: () => {
      const whenFewest = [...pods.values()];
      const counted = { fewestReady: ready().length, whenFewest, most: stay().length };
      counts.push(counted);
      return counted;
    },
    active: () => ready().filter((pod) => pod.active),
    takeoverMs: (uid) => takeovers.get(uid),
    losses: (uid) => losses.get(uid) ?? 0,
  };
};
