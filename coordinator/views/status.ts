/** `sdewan status` as a value and as text. Pure. */
import * as z from 'zod';
import { few } from '#shared/util/few.ts';
import { rightsOf } from './rights.ts';
import { ruleStateOf, ruleStateSchema, type RuleStateView } from './rule-state.ts';
import { ageOf } from './output/age.ts';
import { API_VERSION, headOf } from './output/format.ts';
import { printable, table } from './output/table.ts';
import { type VisibleCnf, type ClusterFacts, cnfsIn } from './cluster-facts.ts';

const shareSchema = z.object({ up: z.int(), total: z.int() });

const cnfSchema = z.object({
  namespace: z.string(),
  name: z.string().describe('The purpose of its pods and rules.'),
  pods: shareSchema
    .optional()
    .describe('Those of which something is known now; absent without a CNFStatus.'),
  wans: shareSchema.optional(),
  tunnels: shareSchema.optional(),
  agentImages: z
    .array(z.string())
    .optional()
    .describe('Of its agents, each once; only where pods can be seen, and not in the plain table.'),
  rules: z.object({ inSync: z.int(), total: z.int() }),
  message: z.string().optional().describe('What is not as it should be with its pods.'),
});

export const statusViewSchema = z.object({
  ...headOf('Status'),
  inSync: z
    .enum(['Yes', 'No', 'Unknown'])
    .describe('Unknown: all that can be seen is in sync, and not everything can be seen.'),
  cnfs: z.array(cnfSchema),
  notInSync: z.array(ruleStateSchema).describe('Rules.'),
  notSeen: z.array(z.string()).describe('Rights that are lacking.'),
  absentKinds: z.array(z.string()).describe('Kinds that the cluster does not have.'),
});
export type StatusView = z.infer<typeof statusViewSchema>;

/** `name`: of this CNF only. */
export const statusViewOf = (facts: ClusterFacts, name?: string): StatusView => {
  const isAsked = (cnf: string): boolean => name === undefined || cnf === name;
  const states = facts.rules.map(ruleStateOf).filter(({ cnf }) => isAsked(cnf));
  const notInSync = states.filter(({ state }) => state !== 'InSync');
  const notSeen = rightsOf(facts.lacking);
  const isBlind = facts.lacking.some(({ resource }) => resource !== 'pods');
  return {
    apiVersion: API_VERSION,
    kind: 'Status',
    inSync: notInSync.length > 0 ? 'No' : isBlind ? 'Unknown' : 'Yes',
    cnfs: cnfsIn(facts)
      .filter(({ purpose }) => isAsked(purpose))
      .map((cnf) => cnfOf(cnf, states, facts)),
    notInSync,
    notSeen,
    absentKinds: [...facts.absent],
  };
};

const cnfOf = (
  { namespace, purpose, status }: VisibleCnf,
  states: readonly RuleStateView[],
  { pods }: ClusterFacts,
): StatusView['cnfs'][number] => {
  const isOfCnf = (one: { namespace: string }, cnf: string): boolean =>
    one.namespace === namespace && cnf === purpose;
  const rules = states.filter((one) => isOfCnf(one, one.cnf));
  const images = pods
    ?.filter((one) => isOfCnf(one, one.purpose))
    .flatMap(({ agentImage }) => agentImage ?? []);
  return {
    namespace,
    name: purpose,
    ...(status?.pods && { pods: share(status.pods) }),
    ...(status?.wans && { wans: share(status.wans) }),
    ...(status?.tunnels && { tunnels: share(status.tunnels) }),
    ...(images && { agentImages: [...new Set(images)].sort() }),
    rules: { inSync: rules.filter(({ state }) => state === 'InSync').length, total: rules.length },
    ...(status?.message !== undefined && { message: status.message }),
  };
};

const share = ({ up, total }: { up: number; total: number }) => ({ up, total });

export type Shown = { isWide: boolean; hasNamespaces: boolean; now: number };

export const statusText = (view: StatusView, { isWide, hasNamespaces, now }: Shown): string => {
  if (view.cnfs.length === 0 && view.notInSync.length === 0) return 'no CNF, and no rule\n';
  const cnfs = table(
    [
      ...(hasNamespaces ? ['NAMESPACE'] : []),
      'CNF',
      'PODS',
      'RULES IN SYNC',
      ...(isWide ? ['WANS', 'TUNNELS', 'AGENTS'] : []),
    ],
    view.cnfs.map((cnf) => [
      ...(hasNamespaces ? [cnf.namespace] : []),
      cnf.name,
      shareText(cnf.pods),
      `${cnf.rules.inSync}/${cnf.rules.total}`,
      ...(isWide
        ? [shareText(cnf.wans), shareText(cnf.tunnels), cnf.agentImages?.join(', ') || '-']
        : []),
    ]),
  );
  const troubles = view.cnfs.flatMap(({ namespace, name, message }) =>
    message === undefined
      ? []
      : [`CNF ${hasNamespaces ? `${namespace}/` : ''}${name}: ${printable(message)}\n`],
  );
  const groups = Map.groupBy(view.notInSync, ({ namespace, cnf, state, reason, cause }) =>
    JSON.stringify([namespace, cnf, state, reason, cause]),
  );
  const blocks = [...groups.values()].map((group) =>
    blockOf(group, { isWide, hasNamespaces, now }),
  );
  return [cnfs, ...troubles, ...blocks].join('\n');
};

const shareText = (given: { up: number; total: number } | undefined): string =>
  given ? `${given.up}/${given.total}` : '-';

/** Rules that have one cause in common are one block. */
const blockOf = (
  group: readonly RuleStateView[],
  { isWide, hasNamespaces, now }: Shown,
): string => {
  const [first] = group;
  if (!first) return '';
  const names = group.map(({ kind, name }) => `${kind}/${name}`);
  const cnf =
    first.cnf === '' ? '' : ` of ${hasNamespaces ? `${first.namespace}/` : ''}${first.cnf}`;
  const since = group.flatMap((one) => one.since ?? []).sort()[0];
  const age = since === undefined ? '' : `, for ${ageOf(since, now)}`;
  return [
    `${isWide ? names.join(', ') : few(names)}${cnf}: ${STATE_WORDS[first.state]}: ${first.reason}${age}`,
    `  cause: ${printable(first.cause)}`,
    ...(first.cure === undefined ? [] : [`  cure:  ${printable(first.cure)}`]),
    '',
  ].join('\n');
};

export const STATE_WORDS: Readonly<Record<RuleStateView['state'], string>> = {
  InSync: 'in sync',
  NotInSync: 'not in sync',
  BeingDeleted: 'being deleted',
  Unknown: 'not known',
};
