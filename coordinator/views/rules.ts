/** `sdewan rules` as a value and as text: in the order of OpenWRT's configuration. Pure. */
import * as z from 'zod';
import { byPlace } from '#shared/compile/candidates.ts';
import type { RuleObject } from '#shared/kube/objects.ts';
import { kinds, kindOf } from '#shared/resources/registry.ts';
import { rightsOf } from './rights.ts';
import { ruleStateOf, ruleStateSchema, type RuleStateView } from './rule-state.ts';
import { ageOf } from './output/age.ts';
import { API_VERSION, headOf } from './output/format.ts';
import { table } from './output/table.ts';
import { purposeOf, type VisibleCnf, type ClusterFacts } from './cluster-facts.ts';

const podStateSchema = z.object({
  pod: z.string(),
  state: z
    .enum(['InSync', 'NotInSync', 'Unknown'])
    .describe('Unknown: the status lists ten pods only, and more are not in sync.'),
  reason: z.string().optional(),
  message: z.string().optional(),
});

export const ruleSchema = z.object({
  package: z
    .string()
    .optional()
    .describe('Of UCI; absent for what only makes other rules, which stand last.'),
  ...ruleStateSchema.shape,
  podStates: z.array(podStateSchema).describe('Of the pods that are known.'),
});

export const rulesViewSchema = z.object({
  ...headOf('Rules'),
  namespace: z.string(),
  cnf: z.string(),
  inSync: z.enum(['Yes', 'No', 'Unknown']),
  rules: z.array(ruleSchema),
  notSeen: z.array(z.string()).describe('Rights that are lacking.'),
  absentKinds: z.array(z.string()).describe('Kinds that the cluster does not have.'),
});
export type RulesView = z.infer<typeof rulesViewSchema>;

const packages = [...new Set(kinds.flatMap(({ uci }) => uci?.package ?? []))];
const packageOf = ({ kind }: RuleObject): string | undefined => kindOf(kind)?.uci?.package;
/** What has no package comes last. */
const packagePlace = (rule: RuleObject): number => {
  const name = packageOf(rule);
  return name === undefined ? packages.length : packages.indexOf(name);
};

/** As they stand in OpenWRT's configuration, package by package. */
export const inConfiguration = (a: RuleObject, b: RuleObject): number =>
  packagePlace(a) - packagePlace(b) || byPlace(a, b);

export const rulesViewOf = (
  facts: ClusterFacts,
  { namespace, purpose, status }: VisibleCnf,
): RulesView => {
  const pods = (status?.information ?? []).map(({ name }) => name);
  const rules = facts.rules
    .filter((rule) => rule.metadata.namespace === namespace && purposeOf(rule) === purpose)
    .sort(inConfiguration)
    .map((rule) => {
      const state = ruleStateOf(rule);
      const packageName = packageOf(rule);
      return {
        ...(packageName !== undefined && { package: packageName }),
        ...state,
        podStates: podStatesOf(state, pods),
      };
    });
  const isBlind = facts.lacking.some(({ resource }) => resource !== 'pods');
  const isInSync = rules.every(({ state }) => state === 'InSync');
  return {
    apiVersion: API_VERSION,
    kind: 'Rules',
    namespace,
    cnf: purpose,
    inSync: isInSync ? (isBlind ? 'Unknown' : 'Yes') : 'No',
    rules,
    notSeen: rightsOf(facts.lacking),
    absentKinds: [...facts.absent],
  };
};

export const podStatesOf = (
  { state, pods, outOfSync }: RuleStateView,
  known: readonly string[],
): z.infer<typeof podStateSchema>[] => {
  const listed = new Map(outOfSync.map((one) => [one.pod, one]));
  const isWhole =
    state === 'InSync' || (pods !== undefined && pods.live - pods.applied <= outOfSync.length);
  return [...new Set([...known, ...listed.keys()])].sort().map((pod) => {
    const problem = listed.get(pod);
    if (problem)
      return { pod, state: 'NotInSync', reason: problem.reason, message: problem.message };
    const isTold = state === 'InSync' || (state === 'NotInSync' && isWhole);
    return { pod, state: isTold ? 'InSync' : 'Unknown' };
  });
};

export const rulesText = (
  { rules, cnf }: RulesView,
  { isWide, now }: { isWide: boolean; now: number },
): string => {
  if (rules.length === 0) return `no rule has the label sdewanPurpose: ${cnf}\n`;
  const pods = isWide
    ? [...new Set(rules.flatMap(({ podStates }) => podStates.map(({ pod }) => pod)))].sort()
    : [];
  return table(
    ['PACKAGE', 'RULE', 'PODS', 'STATE', 'SINCE', ...(isWide ? pods : ['NOT IN SYNC ON'])],
    rules.map((rule) => [
      rule.package ?? '-',
      `${rule.kind}/${rule.name}`,
      rule.pods ? `${rule.pods.applied}/${rule.pods.live}` : '-',
      rule.reason,
      ageOf(rule.since, now),
      ...(isWide
        ? pods.map((pod) => wordOf(rule.podStates.find((one) => one.pod === pod)))
        : [rule.outOfSync.map(({ pod, reason }) => `${pod} (${reason})`).join(', ')]),
    ]),
  );
};

export const wordOf = (pod: RulesView['rules'][number]['podStates'][number] | undefined): string =>
  pod === undefined || pod.state === 'Unknown' ? '-' : (pod.reason ?? 'InSync');
