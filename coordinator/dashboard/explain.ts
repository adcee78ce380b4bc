/**
 * One rule as `sdewan explain` has it. Specs do not stay in the coordinator's memory, so they are read when somebody asks: those of kinds that the
 * viewer may list, one viewer after the other, and never of more rules than the coordinator can compile between two requests.
 */
import { PAGE_SIZE, type KubeClient } from '#shared/kube/client.ts';
import { isNotFound } from '#shared/kube/errors.ts';
import type { RuleObject } from '#shared/kube/objects.ts';
import { referencesOf } from '#shared/compile/check.ts';
import { PURPOSE_LABEL } from '#shared/names.ts';
import type { KindDefinition } from '#shared/resources/kind.ts';
import { kindOf, kinds } from '#shared/resources/registry.ts';
import { createGate } from '#shared/runtime/gate.ts';
import type { ClusterFacts } from '../cli/cluster/facts.ts';
import { explanationOf, type Explanation } from '../cli/explain/view.ts';
import { statusOf, type PodKnowledge } from '../cnf-status/make.ts';
import type { RecentEvent } from './events.ts';
import type { Cnf } from './overview.ts';

export type RuleToExplain = Cnf & {
  kind: string;
  name: string;
  /** Rules that the CNF has. */
  count: number;
  /** Of which kinds the viewer may list rules. */
  sees: (kind: string) => boolean;
  seesPods: boolean;
  seesNetworks: boolean;
  events: readonly Omit<RecentEvent, 'namespace' | 'involved'>[];
};

/** Undefined: it is gone, or too many wait. @throws KubeError */
export type Explain = (wanted: RuleToExplain) => Promise<Explanation | 'gone' | 'busy'>;

export type ExplainDeps = {
  client: Pick<KubeClient, 'get' | 'list'>;
  podsKnown: (of: Cnf) => readonly PodKnowledge[];
  networkAnnotations: (namespace: string, purpose: string) => readonly (string | undefined)[];
};

/** Of a CNF with more, only those rules are read that the rule refers to: everything else that the coordinator does would wait. */
export const MAX_COMPILED = 500;
const MAX_WAITING = 10;
const MAX_WAIT_MS = 5_000;
const TIMEOUT_MS = 10_000;

export const createExplain = ({ client, podsKnown, networkAnnotations }: ExplainDeps): Explain => {
  const gate = createGate({ most: 1, waiting: MAX_WAITING, timeoutMs: MAX_WAIT_MS });

  const one = async (
    kind: KindDefinition,
    namespace: string,
    name: string,
  ): Promise<RuleObject | undefined> => {
    try {
      return await client.get(kind, { namespace, name }, { timeoutMs: TIMEOUT_MS });
    } catch (error) {
      if (isNotFound(error)) return undefined;
      throw error;
    }
  };
  const allOf = async ({ namespace, purpose, sees }: RuleToExplain): Promise<RuleObject[]> => {
    const labelSelector = `${PURPOSE_LABEL}=${purpose}`;
    const lists = [];
    for (const kind of kinds.filter((each) => sees(each.kind))) {
      const bounds = { pageSize: PAGE_SIZE, timeoutMs: TIMEOUT_MS };
      try {
        lists.push((await client.list(kind, { namespace, labelSelector, ...bounds })).items);
      } catch (error) {
        // This cluster does not have the kind.
        if (!isNotFound(error)) throw error;
      }
    }
    return lists.flat();
  };
  const nearby = async (
    rule: RuleObject,
    { namespace, sees }: RuleToExplain,
  ): Promise<RuleObject[]> => {
    const found = await Promise.all(
      referencesOf(rule).map(async ({ kind, name }) => {
        const definition = kindOf(kind);
        return definition && sees(kind) ? one(definition, namespace, name) : undefined;
      }),
    );
    return [rule, ...found.flatMap((each) => each ?? [])];
  };

  return async (wanted) => {
    const { kind, name, namespace, purpose, count, seesPods, seesNetworks } = wanted;
    const definition = kindOf(kind);
    if (!definition) return 'gone';
    const leave = await gate.enter(1);
    if (leave === undefined) return 'busy';
    try {
      const rule = await one(definition, namespace, name);
      if (!rule) return 'gone';
      const isLarge = count > MAX_COMPILED || purpose === '';
      const all = isLarge ? await nearby(rule, wanted) : await allOf(wanted);
      const read = all.find(({ metadata }) => metadata.uid === rule.metadata.uid);
      const [networks] = networkAnnotations(namespace, purpose);
      const cnfPod = { namespace, purpose, name: '', agentImage: undefined, optedOut: false };
      const facts: ClusterFacts = {
        rules: read ? all : [...all, rule],
        cnfs: seesPods
          ? [{ namespace, purpose, status: statusOf(podsKnown({ namespace, purpose })) }]
          : [],
        pods: seesNetworks ? [{ ...cnfPod, networks }] : undefined,
        lacking: [],
        absent: [],
      };
      const view = explanationOf(read ?? rule, facts, wanted.events);
      return guarded(view, definition, { isLarge, count });
    } finally {
      leave();
    }
  };
};

/** Who may list a kind that holds keys may read them with kubectl; a page is no place for them. */
const guarded = (
  view: Explanation,
  { holdsKeys }: KindDefinition,
  { isLarge, count }: { isLarge: boolean; count: number },
): Explanation => ({
  ...view,
  ...(holdsKeys && {
    uci: [],
    uciMissing: 'its sections can have keys; `kubectl sdewan explain` shows them',
  }),
  notes: [
    ...view.notes,
    ...(isLarge
      ? [
          `its CNF has ${count} rules, so who refers to it and what hides it is not looked for here; \`kubectl sdewan explain\` does`,
        ]
      : []),
  ],
});
