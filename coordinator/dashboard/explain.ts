/** One rule as `sdewan explain` has it, of what its viewer may list. */
import type { NetworkTexts } from '#shared/compile/networks.ts';
import type { RuleObject } from '#shared/kube/objects.ts';
import { referencesOf } from '#shared/compile/check.ts';
import type { KindDefinition } from '#shared/resources/kind.ts';
import { kinds } from '#shared/resources/registry.ts';
import { createRedaction } from '#shared/protocol/redaction.ts';
import { stringify } from 'yaml';
import { secretsIn, shownObject } from '../views/shown-object.ts';
import { POLICY, shownKindOf } from './resources.ts';
import { explanationOf, type Explanation } from '../views/explanation.ts';
import { statusOf, type ReportedPod } from '../controllers/cnf-status/status.ts';
import type { RecentEvent } from './latest-events.ts';
import type { Cnf } from './overview.ts';
import { MAX_COMPILED, type RuleReader } from './read-rules.ts';
import type { ClusterFacts } from '../views/cluster-facts.ts';

export type RuleToExplain = Cnf & {
  kind: string;
  name: string;
  /** Rules that the CNF has, without its policies. */
  count: number;
  /** Whether the viewer has the right to list rules of the kind. */
  sees: (kind: string) => boolean;
  seesPods: boolean;
  seesNetworks: boolean;
  events: readonly Omit<RecentEvent, 'namespace' | 'involved'>[];
};

/** `yaml`: of the object, without secrets. */
export type Explained = { view: Explanation; yaml: string };
/** The state of a rule that the viewer may not list. */
export const NOT_KNOWN = 'not known to you';

/** `busy`: too many wait. @throws KubeError */
export type Explain = (wanted: RuleToExplain) => Promise<Explained | 'gone' | 'busy'>;

export type ExplainDeps = {
  reader: RuleReader;
  reportedPods: (of: Cnf) => readonly ReportedPod[];
  networkAnnotations: (namespace: string, purpose: string) => readonly (NetworkTexts | undefined)[];
};

export const createExplain = ({ reader, ...known }: ExplainDeps): Explain => {
  const nearby = async (
    rule: RuleObject,
    { namespace, sees }: RuleToExplain,
  ): Promise<RuleObject[]> => {
    const found = await Promise.all(
      referencesOf(rule).map(async ({ kind, name }) => {
        const definition = shownKindOf(kind);
        return definition && sees(kind) ? reader.one(definition, namespace, name) : undefined;
      }),
    );
    return [rule, ...found.flatMap((each) => each ?? [])];
  };

  return async (wanted) => {
    const { kind, name, namespace, purpose, count } = wanted;
    const definition = shownKindOf(kind);
    if (!definition) return 'gone';
    return reader.inTurn(async () => {
      const rule = await reader.one(definition, namespace, name);
      if (!rule) return 'gone';
      // In a CNF with more, only those rules are read that the rule refers to.
      const isLarge = count > MAX_COMPILED || purpose === '';
      const all =
        isLarge || kind === POLICY
          ? await nearby(rule, wanted)
          : await reader.allOf(
              wanted,
              kinds.filter((each) => wanted.sees(each.kind)),
            );
      const read = all.find(({ metadata }) => metadata.uid === rule.metadata.uid);
      const facts = factsOf(read ? all : [...all, rule], wanted, known);
      const view = explanationOf(read ?? rule, facts, wanted.events);
      return {
        view: withinRights(guarded(view, definition, { isLarge, count }), wanted),
        yaml: yamlOf(rule),
      };
    });
  };
};

const yamlOf = (rule: RuleObject): string => {
  const redaction = createRedaction();
  redaction.add(secretsIn(rule));
  return stringify(shownObject(rule, redaction), { lineWidth: 0, aliasDuplicateObjects: false });
};

/** What the viewer has no right to list is not read: the page must not say that it is not there. */
const withinRights = (view: Explanation, { sees }: RuleToExplain): Explanation => {
  const unseen = view.refersTo.filter(({ kind }) => !sees(kind)).map(({ kind }) => kind);
  return unseen.length === 0
    ? view
    : {
        ...view,
        refersTo: view.refersTo.map((one) => (sees(one.kind) ? one : { ...one, state: NOT_KNOWN })),
        uci: [],
        uciMissing: `what it refers to is not known to you: you may not list ${[...new Set(unseen)].join(' and ')}`,
      };
};

/** As `sdewan` gathers them. */
export const factsOf = (
  rules: readonly RuleObject[],
  {
    namespace,
    purpose,
    seesPods,
    seesNetworks,
  }: Cnf & Pick<RuleToExplain, 'seesPods' | 'seesNetworks'>,
  { reportedPods, networkAnnotations }: Omit<ExplainDeps, 'reader'>,
): ClusterFacts => {
  const [networks] = networkAnnotations(namespace, purpose);
  const cnfPod = { namespace, purpose, name: '', agentImage: undefined, optedOut: false };
  return {
    rules,
    cnfs: seesPods
      ? [{ namespace, purpose, status: statusOf(reportedPods({ namespace, purpose })) }]
      : [],
    pods: seesNetworks ? [{ ...cnfPod, networks }] : undefined,
    lacking: [],
    absent: [],
  };
};

/**
 * A user with the right to list a kind that holds keys reads them with kubectl; a page is no place
 * for them.
 */
const guarded = (
  view: Explanation,
  { holdsKeys, kind }: KindDefinition,
  { isLarge, count }: { isLarge: boolean; count: number },
): Explanation => ({
  ...view,
  ...(holdsKeys && {
    uci: [],
    uciMissing: 'its sections can have keys; `kubectl sdewan explain` shows them',
  }),
  ...(kind === POLICY && {
    uci: [],
    uciMissing: 'agents load it into the kernel, beside what OpenWRT makes of its configuration',
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
