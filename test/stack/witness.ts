/**
 * The history of a namespace on the API server: one watch on its rules and pods, from outside of
 * the product. It records when something was seen, so that tests can ask what came first, and it
 * wakes those who wait.
 */
import * as z from 'zod';
import type { Cluster, KubeObject } from 'kind-test-harness';
import type { Seen } from '../openwrt/checks/true-statuses.ts';
import { podsPath, ruleCollections, type ObservedObject } from './collections.ts';
import { podOf } from './observe.ts';

export type Sighting = {
  /** When it arrived here, milliseconds since 1970. */
  at: number;
  /** `Kind/name`. */
  id: string;
  /** undefined: the object is gone. */
  object: ObservedObject | undefined;
};

export type Witness = {
  /** Everything since the beginning, in the order of arrival. */
  sightings: readonly Sighting[];
  /** When the watch said that the object is gone. @throws while it is there, or was never seen */
  goneAt: (id: string) => number;
  /** Resolves at the next sighting, or after `ms`. */
  next: (ms: number) => Promise<void>;
};

/** By cluster and namespace: a test process has one watch for all who ask. */
const witnesses = new WeakMap<Cluster['api'], Map<string, Promise<Witness>>>();

/** Resolves when all that is there has been seen. It ends with the cluster. */
export const witness = (cluster: Cluster, namespace: string): Promise<Witness> => {
  const known = witnesses.get(cluster.api) ?? new Map<string, Promise<Witness>>();
  witnesses.set(cluster.api, known);
  const begun = known.get(namespace) ?? begin(cluster, namespace);
  known.set(namespace, begun);
  return begun;
};

const said = z.object({ status: z.object({ inSync: z.boolean() }) });

/** The statuses of pods and rules, for test/openwrt/checks/true-statuses.ts. */
export const statusesOf = ({ sightings }: Witness): Seen[] =>
  sightings.map(({ at, id, object }) =>
    id.startsWith('Pod/')
      ? { at, what: 'pod', id, is: object && podOf(object).ready }
      : { at, what: 'rule', id, is: object && said.safeParse(object).data?.status.inSync },
  );

const begin = async ({ api }: Cluster, namespace: string): Promise<Witness> => {
  const sightings: Sighting[] = [];
  let waiting: (() => void)[] = [];
  const see = (id: string, object: Sighting['object']): void => {
    sightings.push({ at: Date.now(), id, object });
    for (const wake of waiting) wake();
    waiting = [];
  };
  const follow = (kind: string, path: string): Promise<void> =>
    api.watch<ObservedObject & KubeObject>(path, {
      onChange: (object) => see(`${kind}/${object.metadata.name}`, object),
      onDelete: ({ metadata }) => see(`${kind}/${metadata.name}`, undefined),
    });
  const collections = await ruleCollections(api, namespace);
  await Promise.all([
    follow('Pod', podsPath(namespace)),
    ...collections.map(({ kind, path }) => follow(kind, path)),
  ]);
  return {
    sightings,
    goneAt: (id) => {
      const last = sightings.findLast((each) => each.id === id);
      if (last === undefined) throw new Error(`${id} was never seen`);
      if (last.object) throw new Error(`${id} is still there`);
      return last.at;
    },
    next: (ms) =>
      new Promise((resolve) => {
        const timer = setTimeout(resolve, ms);
        waiting.push(() => {
          clearTimeout(timer);
          resolve();
        });
      }),
  };
};
