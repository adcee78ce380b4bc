/**
 * What the API server said of the rules and pods of a namespace, as it came: who was there when,
 * and what statuses said.
 */
import * as z from 'zod';
import type { Cluster, KubeObject } from 'kind-test-harness';
import { podsPath, ruleCollections } from '../../stack/collections.ts';

const PURPOSE_LABEL = 'sdewanPurpose';

const metadata = z.object({
  name: z.string(),
  uid: z.string(),
  resourceVersion: z.string(),
  generation: z.number().default(0),
  deletionTimestamp: z.string().optional(),
  finalizers: z.array(z.string()).default([]),
  labels: z.record(z.string(), z.string()).default({}),
});
const ruleSchema = z.object({
  metadata,
  spec: z.unknown(),
  status: z
    .looseObject({ inSync: z.boolean().optional(), observedGeneration: z.number().optional() })
    .optional(),
});
const podSchema = z.object({
  metadata,
  status: z.object({ phase: z.string().optional() }).optional(),
});

export type SeenRule = z.infer<typeof ruleSchema> & { id: string; purpose: string };

export type RuleSighting = {
  /** When it arrived here, ms since 1970. */
  at: number;
  id: string;
  before: SeenRule | undefined;
  /** undefined: it is gone. */
  now: SeenRule | undefined;
};

/** Times are ms since 1970, of arrival; undefined: not yet. */
export type SeenPod = {
  uid: string;
  name: string;
  purpose: string;
  since: number;
  terminatingSince: number | undefined;
  /** Its phase says that no container of it runs, or will. */
  finishedSince: number | undefined;
  goneAt: number | undefined;
};

export type Watch = {
  /** What has come since the last call, in the order of arrival. */
  takeRules: () => RuleSighting[];
  /** Those that are there, or were. */
  pods: () => SeenPod[];
  /** When a generation of a rule was seen; undefined where it came and went between two events. */
  specOf: (uid: string, generation: number) => unknown;
};

const FINISHED = new Set(['Succeeded', 'Failed']);

/** It goes on until the cluster is stopped. */
export const watchNamespace = async (
  { api }: Pick<Cluster, 'api'>,
  namespace: string,
): Promise<Watch> => {
  const rules: RuleSighting[] = [];
  const last = new Map<string, SeenRule>();
  const pods = new Map<string, SeenPod>();
  const specs = new Map<string, unknown>();

  const seeRule = (id: string, object: unknown): void => {
    const rule = ruleSchema.parse(object);
    const now = { ...rule, id, purpose: rule.metadata.labels[PURPOSE_LABEL] ?? '' };
    const before = last.get(id);
    // A new list tells again what is known.
    if (before?.metadata.resourceVersion === now.metadata.resourceVersion) return;
    last.set(id, now);
    specs.set(`${now.metadata.uid} ${now.metadata.generation}`, now.spec);
    rules.push({ at: Date.now(), id, before, now });
  };
  const loseRule = (id: string): void => {
    rules.push({ at: Date.now(), id, before: last.get(id), now: undefined });
    last.delete(id);
  };
  const seePod = (object: unknown): void => {
    const { metadata: pod, status } = podSchema.parse(object);
    const now = Date.now();
    const known = pods.get(pod.uid);
    const { since = now, terminatingSince, finishedSince } = known ?? {};
    pods.set(pod.uid, {
      uid: pod.uid,
      name: pod.name,
      purpose: pod.labels[PURPOSE_LABEL] ?? '',
      since,
      terminatingSince: terminatingSince ?? (pod.deletionTimestamp === undefined ? undefined : now),
      finishedSince: finishedSince ?? (FINISHED.has(status?.phase ?? '') ? now : undefined),
      goneAt: undefined,
    });
  };

  const collections = await ruleCollections(api, namespace);
  await Promise.all([
    api.watch<KubeObject>(podsPath(namespace), {
      onChange: seePod,
      onDelete: ({ metadata: { uid } }) => {
        const known = pods.get(uid);
        if (known) pods.set(uid, { ...known, goneAt: Date.now() });
      },
    }),
    ...collections.map(({ kind, path }) =>
      api.watch<KubeObject>(path, {
        onChange: (object) => seeRule(`${kind}/${object.metadata.name}`, object),
        onDelete: (object) => loseRule(`${kind}/${object.metadata.name}`),
      }),
    ),
  ]);
  return {
    takeRules: () => rules.splice(0),
    pods: () => [...pods.values()],
    specOf: (uid, generation) => specs.get(`${uid} ${generation}`),
  };
};
