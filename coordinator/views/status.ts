/** `sdewan status` as a value and as text. Pure. */
import * as z from 'zod';
import { resourceName } from '#shared/kube/path.ts';
import { PURPOSE_LABEL } from '#shared/names.ts';
import {
  cnfDeploymentResource,
  type CnfDeployment,
  type CnfDeploymentStatus,
  type FleetCondition,
} from '#shared/resources/other-kinds/cnf-deployment.ts';
import { few } from '#shared/util/few.ts';
import { rightsOf } from './rights.ts';
import {
  byCause,
  ruleStateOf,
  ruleStateSchema,
  type OneCause,
  type RuleStateView,
} from './rule-state.ts';
import { ageOf } from './output/age.ts';
import { API_VERSION, headOf } from './output/format.ts';
import { printable, table } from './output/table.ts';
import { type VisibleCnf, type ClusterFacts, cnfsIn } from './cluster-facts.ts';

const shareSchema = z.object({ up: z.int(), total: z.int() });

const rollOutSchema = z.object({
  name: z.string().describe('Of the CNFDeployment.'),
  stage: z.string().describe('Or the reason of condition Degraded.'),
  since: z.string().optional().describe('RFC 3339.'),
  message: z.string(),
});

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
  rollOut: rollOutSchema
    .optional()
    .describe(
      'One that is under way, has failed, or cannot go on; pods that it stages do not count.',
    ),
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

/** Without these all rules can be seen. */
const NO_RULES: ReadonlySet<string> = new Set(['pods', resourceName(cnfDeploymentResource)]);

/** `name`: of this CNF only. */
export const statusViewOf = (facts: ClusterFacts, name?: string): StatusView => {
  const isAsked = (cnf: string): boolean => name === undefined || cnf === name;
  const states = facts.rules
    .map(ruleStateOf)
    .filter(({ cnf }) => isAsked(cnf))
    .map((one) => servedState(one, facts));
  const notInSync = states.filter(({ state }) => state !== 'InSync');
  const notSeen = rightsOf(facts.lacking);
  const isBlind = facts.lacking.some(({ resource }) => !NO_RULES.has(resource));
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

const rollOutsOf = (
  { rollOuts = [] }: ClusterFacts,
  { namespace, purpose }: { namespace: string; purpose: string },
): readonly CnfDeployment[] =>
  rollOuts.filter(
    ({ metadata, spec }) =>
      metadata.namespace === namespace && spec.template.metadata.labels[PURPOSE_LABEL] === purpose,
  );

/** Pods that have not had the traffic yet: what they lack is what the roll-out waits for. */
const isStaged = (pod: string, rollOuts: readonly CnfDeployment[]): boolean =>
  rollOuts.some(
    ({ metadata, status: { stage = '', stagedRevision = '' } = {} }) =>
      BEFORE_TRAFFIC.has(stage) && pod.startsWith(`${metadata.name}-${stagedRevision}-`),
  );
const BEFORE_TRAFFIC: ReadonlySet<string> = new Set(['Staged', 'Connected']);

/** In sync where every pod that serves has it. */
const servedState = (state: RuleStateView, facts: ClusterFacts): RuleStateView => {
  const { cnf, namespace, outOfSync, pods } = state;
  const lacking = (pods?.live ?? 0) - (pods?.applied ?? 0);
  if (state.state !== 'NotInSync' || lacking === 0 || lacking > outOfSync.length) return state;
  const rollOuts = rollOutsOf(facts, { namespace, purpose: cnf });
  return outOfSync.every(({ pod }) => isStaged(pod, rollOuts))
    ? { ...state, cure: undefined, state: 'InSync', cause: '' }
    : state;
};

/** Why a CNFDeployment has failed, or cannot go on. */
export const degradedIn = ({ conditions = [] }: CnfDeploymentStatus): FleetCondition | undefined =>
  conditions.find(({ type, status }) => type === 'Degraded' && status === 'True');

type RollOut = z.infer<typeof rollOutSchema>;

/** Undefined for one at its end. */
const rollOutOf = ({ metadata, status = {} }: CnfDeployment): RollOut | undefined => {
  const { message = '', stage = 'New', stageTime } = status;
  const trouble = degradedIn(status);
  if (!trouble && stage === 'Current') return undefined;
  const told = trouble
    ? { stage: trouble.reason, since: trouble.lastTransitionTime, message: trouble.message }
    : { stage, since: stageTime, message };
  return { name: metadata.name, ...told };
};

/** Without those that have not had the traffic yet. */
const servingPods = (
  { pods, information = [] }: NonNullable<VisibleCnf['status']>,
  rollOuts: readonly CnfDeployment[],
): z.infer<typeof shareSchema> | undefined => {
  const staged = information.filter(({ name }) => isStaged(name, rollOuts));
  const up = staged.filter((pod) => pod.status === 'Available').length;
  return pods && { up: pods.up - up, total: pods.total - staged.length };
};

const cnfOf = (
  { namespace, purpose, status }: VisibleCnf,
  states: readonly RuleStateView[],
  facts: ClusterFacts,
): StatusView['cnfs'][number] => {
  const isOfCnf = (one: { namespace: string }, cnf: string): boolean =>
    one.namespace === namespace && cnf === purpose;
  const rules = states.filter((one) => isOfCnf(one, one.cnf));
  const rollOuts = rollOutsOf(facts, { namespace, purpose });
  const [rollOut] = rollOuts.flatMap((one) => rollOutOf(one) ?? []);
  const shownPods = status && servingPods(status, rollOuts);
  const images = facts.pods
    ?.filter((one) => isOfCnf(one, one.purpose))
    .flatMap(({ agentImage }) => agentImage ?? []);
  return {
    namespace,
    name: purpose,
    ...(shownPods && { pods: shownPods }),
    ...(status?.wans && { wans: share(status.wans) }),
    ...(status?.tunnels && { tunnels: share(status.tunnels) }),
    ...(images && { agentImages: [...new Set(images)].sort() }),
    rules: { inSync: rules.filter(({ state }) => state === 'InSync').length, total: rules.length },
    ...(status?.message !== undefined && { message: status.message }),
    ...(rollOut && { rollOut }),
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
      'WANS',
      'TUNNELS',
      ...(isWide ? ['AGENTS'] : []),
    ],
    view.cnfs.map((cnf) => [
      ...(hasNamespaces ? [cnf.namespace] : []),
      cnf.name,
      shareText(cnf.pods),
      `${cnf.rules.inSync}/${cnf.rules.total}`,
      shareText(cnf.wans),
      shareText(cnf.tunnels),
      ...(isWide ? [cnf.agentImages?.join(', ') || '-'] : []),
    ]),
  );
  const problems = view.cnfs.flatMap(({ namespace, name, message }) =>
    message === undefined
      ? []
      : [`CNF ${hasNamespaces ? `${namespace}/` : ''}${name}: ${printable(message)}\n`],
  );
  const rollOuts = view.cnfs.flatMap(({ namespace, rollOut }) =>
    rollOut === undefined ? [] : [rollOutLine(rollOut, { namespace, hasNamespaces, now })],
  );
  const blocks = byCause(view.notInSync).map((group) =>
    blockOf(group, { isWide, hasNamespaces, now }),
  );
  return [cnfs, ...problems, ...rollOuts, ...blocks].join('\n');
};

const rollOutLine = (
  { name, stage, since, message }: RollOut,
  { namespace, hasNamespaces, now }: Omit<Shown, 'isWide'> & { namespace: string },
): string => {
  const age = since === undefined ? '' : `, for ${ageOf(since, now)}`;
  const words = message === '' ? '' : `: ${printable(message)}`;
  return `CNFDeployment ${hasNamespaces ? `${namespace}/` : ''}${name}: ${stage}${age}${words}\n`;
};

const shareText = (given: { up: number; total: number } | undefined): string =>
  given ? `${given.up}/${given.total}` : '-';

const blockOf = (
  { first, all, since }: OneCause,
  { isWide, hasNamespaces, now }: Shown,
): string => {
  const names = all.map(({ kind, name }) => `${kind}/${name}`);
  const cnf =
    first.cnf === '' ? '' : ` of ${hasNamespaces ? `${first.namespace}/` : ''}${first.cnf}`;
  // A reason can be younger: the API server keeps the time of a change of the state alone.
  const age = since === undefined ? '' : ` for ${ageOf(since, now)}`;
  return [
    `${isWide ? names.join(', ') : few(names)}${cnf}: ${STATE_WORDS[first.state]}${age}: ${first.reason}`,
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
