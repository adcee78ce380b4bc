/** `sdewan explain` as a value and as text: all that is known of one rule. Pure. */
import * as z from 'zod';
import { referencesOf } from '#shared/compile/check.ts';
import type { NetworkTable, PodNetworks } from '#shared/compile/types.ts';
import type { RuleObject } from '#shared/kube/objects.ts';
import { isControlledBy } from '#shared/kube/owned.ts';
import { kindOf } from '#shared/resources/registry.ts';
import { uciName } from '#shared/uci/names.ts';
import { cnfOf } from './known-cnf.ts';
import { ruleStateOf } from './rule-state.ts';
import { ageOf } from './output/age.ts';
import { API_VERSION, headOf } from './output/format.ts';
import { printable, table, tableOrNone, titled } from './output/table.ts';
import { compileOffline, usesOf } from '#shared/compile/offline.ts';
import { packagesOf } from './rendered.ts';
import { reportingPod } from './traced-cnf.ts';
import { podStatesOf, ruleSchema, wordOf } from './rules.ts';
import { hiddenIn } from './hidden-rules.ts';
import type { ClusterFacts, VisibleCnf } from './cluster-facts.ts';
import { packageSchema, packagesText } from './rendered.ts';

const relatedSchema = z.object({
  path: z.string().describe('The field of the rule that refers.'),
  kind: z.string(),
  name: z.string(),
  state: z
    .string()
    .describe('Its reason; Absent where it cannot be seen among the rules of the CNF.'),
});

export const eventSchema = z.object({
  type: z.string(),
  reason: z.string(),
  message: z.string(),
  count: z.int(),
  last: z.string().optional().describe('RFC 3339.'),
});
export type SeenEvent = z.infer<typeof eventSchema>;

export const explanationSchema = z.object({
  ...headOf('Explanation'),
  rule: ruleSchema,
  uci: z.array(packageSchema).describe('The sections that it becomes.'),
  uciMissing: z.string().optional().describe('Why there are none.'),
  refersTo: z.array(relatedSchema),
  referredBy: z.array(relatedSchema),
  conditions: z.array(
    z.object({ type: z.string(), status: z.string(), reason: z.string(), since: z.string() }),
  ),
  events: z
    .array(eventSchema)
    .describe('What has happened so far, as long as Kubernetes keeps it.'),
  notes: z.array(z.string()),
});
export type Explanation = z.infer<typeof explanationSchema>;

export const explanationOf = (
  rule: RuleObject,
  facts: ClusterFacts,
  events: readonly SeenEvent[],
): Explanation => {
  const { rules: ofCnf, seesPods, status, ...networks } = cnfOf(rule, facts);
  const state = ruleStateOf(rule);
  const pods = (status?.information ?? []).map(({ name }) => name);
  const packageName = kindOf(rule.kind)?.uci?.package;
  return {
    apiVersion: API_VERSION,
    kind: 'Explanation',
    rule: {
      ...(packageName !== undefined && { package: packageName }),
      ...state,
      podStates: podStatesOf(state, pods),
    },
    ...uciOf(rule, ofCnf, { networks, status }),
    refersTo: referencesOf(rule).map(({ path, kind, name }) => ({
      path,
      kind,
      name,
      state: stateIn(ofCnf, kind, name),
    })),
    referredBy: ofCnf.flatMap((one) =>
      referencesOf(one)
        .filter(
          ({ kind, name }) => kind === rule.kind && uciName(name) === uciName(rule.metadata.name),
        )
        .map(({ path }) => ({
          path,
          kind: one.kind,
          name: one.metadata.name,
          state: ruleStateOf(one).reason,
        })),
    ),
    conditions: conditionsIn(rule),
    events: [...events],
    notes: [
      ...(!seesPods && usesOf(rule, (kind, spec) => kind.networks?.(spec)).length > 0
        ? ['no pod of the CNF can be seen, so networks stand for their interfaces']
        : []),
      ...hiddenNotes(rule, ofCnf, { ...networks, status }),
    ],
  };
};

const hiddenNotes = (
  { kind, metadata }: RuleObject,
  rules: readonly RuleObject[],
  cnf: { networks: NetworkTable; status: VisibleCnf['status'] },
): string[] => {
  if (kindOf(kind)?.uci?.package !== 'firewall') return [];
  const why = hiddenIn({ rules, ...cnf }).get(`${kind}/${metadata.name}`);
  return why === undefined ? [] : [why];
};

const uciOf = (
  rule: RuleObject,
  ofCnf: readonly RuleObject[],
  { networks, status }: { networks: PodNetworks; status: VisibleCnf['status'] },
): Pick<Explanation, 'uci' | 'uciMissing'> => {
  if (kindOf(rule.kind)?.uci === undefined) return { uci: [], uciMissing: madeOf(rule, ofCnf) };
  const { desired, verdicts } = compileOffline(ofCnf, networks, interfacesOf(status));
  const verdict = verdicts.find((one) => one.rule === rule);
  const uci = packagesOf(verdict?.sections ?? [], desired);
  return uci.length > 0 ? { uci } : { uci, uciMissing: verdict?.message || 'it is being deleted' };
};

/** As its agent reports them; of two on a device the first. */
const interfacesOf = (status: VisibleCnf['status']): ReadonlyMap<string, string> =>
  new Map(
    (reportingPod(status)?.interfaces ?? [])
      .map(({ name, device = name }): [string, string] => [device, name])
      .toReversed(),
  );

const madeOf = (rule: RuleObject, ofCnf: readonly RuleObject[]): string => {
  const made = ofCnf.filter((one) => isControlledBy(one, rule));
  const list = made.map((one) => `${one.kind}/${one.metadata.name} (${ruleStateOf(one).reason})`);
  const kinds = kindOf(rule.kind)?.generates?.kinds.join(' and ') ?? '';
  return `it becomes other rules, which the coordinator makes: ${list.join(', ') || `of ${kinds}, none yet`}`;
};

const ABSENT = 'Absent';

const stateIn = (rules: readonly RuleObject[], kind: string, name: string): string => {
  const found = rules.find(
    (one) => one.kind === kind && uciName(one.metadata.name) === uciName(name),
  );
  return found ? ruleStateOf(found).reason : ABSENT;
};

const conditionsSchema = z.object({
  conditions: z.array(
    z.object({
      type: z.string(),
      status: z.string(),
      reason: z.string(),
      lastTransitionTime: z.string(),
    }),
  ),
});

const conditionsIn = ({ status }: RuleObject): Explanation['conditions'] =>
  (conditionsSchema.safeParse(status).data?.conditions ?? []).map(
    ({ type, status: now, reason, lastTransitionTime }) => ({
      type,
      status: now,
      reason,
      since: lastTransitionTime,
    }),
  );

export const explanationText = (view: Explanation, now: number): string => {
  const { rule, uci, uciMissing, refersTo, referredBy, events, conditions, notes } = view;
  const cnf = rule.cnf === '' ? 'no CNF' : `CNF ${rule.cnf}`;
  return titled([
    [
      `${rule.kind}/${rule.name}`,
      table(
        ['FOR', 'NAMESPACE', 'GENERATION', 'STATE', 'SINCE'],
        [[cnf, rule.namespace, String(rule.generation), rule.reason, ageOf(rule.since, now)]],
      ) + whyOf(rule),
    ],
    ['In force on', podTable(rule.podStates)],
    ['Refers to', related(refersTo)],
    ['Referred to by', related(referredBy)],
    ['UCI', uciMissing === undefined ? packagesText(uci).trim() : `none: ${printable(uciMissing)}`],
    [
      'Conditions',
      tableOrNone(
        ['TYPE', 'STATUS', 'REASON', 'SINCE'],
        conditions.map((one) => [one.type, one.status, one.reason, ageOf(one.since, now)]),
      ),
    ],
    ['So far', eventsTable(events, now)],
    ...notes.map((note): [string, string] => ['Note', note]),
  ]);
};

export const eventsTable = (events: readonly SeenEvent[], now: number): string =>
  tableOrNone(
    ['LAST', 'COUNT', 'TYPE', 'REASON', 'MESSAGE'],
    events.map((one) => [
      ageOf(one.last, now),
      String(one.count),
      one.type,
      one.reason,
      one.message,
    ]),
  );

const whyOf = ({ cause, cure }: Explanation['rule']): string =>
  cause === ''
    ? ''
    : `cause: ${printable(cause)}\n${cure === undefined ? '' : `cure:  ${printable(cure)}\n`}`;

const podTable = (pods: Explanation['rule']['podStates']): string =>
  tableOrNone(
    ['POD', 'STATE', 'MESSAGE'],
    pods.map((pod) => [pod.pod, wordOf(pod), pod.message ?? '']),
  );

const related = (rules: Explanation['refersTo']): string =>
  tableOrNone(
    ['RULE', 'STATE', 'FIELD'],
    rules.map(({ kind, name, state, path }) => [`${kind}/${name}`, state, path]),
  );
