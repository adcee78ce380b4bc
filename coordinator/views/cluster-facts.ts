/** What is known of a cluster's CNFs and rules, as far as the viewer may see it. Pure. */
import type { NetworkTexts } from '#shared/compile/networks.ts';
import type { RuleObject } from '#shared/kube/objects.ts';
import { PURPOSE_LABEL } from '#shared/names.ts';
import type { CnfDeployment } from '#shared/resources/other-kinds/cnf-deployment.ts';
import type { CnfStatus } from '#shared/resources/other-kinds/cnf-status.ts';
import type { Lacking } from './rights.ts';

export type VisibleCnf = {
  namespace: string;
  purpose: string;
  /** Undefined when it is not the coordinator's, or none is there yet. */
  status: CnfStatus | undefined;
};

export type VisiblePod = {
  namespace: string;
  purpose: string;
  name: string;
  agentImage: string | undefined;
  /** Its owner wants no agent in it. */
  optedOut: boolean;
  /** Its annotations about networks. */
  networks: NetworkTexts | undefined;
};

export type ClusterFacts = {
  rules: readonly RuleObject[];
  cnfs: readonly VisibleCnf[];
  /** Undefined when they were not asked for, or may not be seen. */
  pods: readonly VisiblePod[] | undefined;
  /** Undefined when they were not asked for, or may not be seen. */
  rollOuts?: readonly CnfDeployment[] | undefined;
  /** Rights that the user lacks. */
  lacking: readonly Lacking[];
  /** Kinds that this cluster does not have. */
  absent: readonly string[];
};

export const purposeOf = ({ metadata }: RuleObject): string =>
  metadata.labels?.[PURPOSE_LABEL] ?? '';

/** Those of which there is a CNFStatus, a rule or a CNFDeployment, by namespace and name. */
export const cnfsIn = ({
  cnfs,
  rules,
  rollOuts = [],
}: Pick<ClusterFacts, 'cnfs' | 'rules' | 'rollOuts'>): VisibleCnf[] => {
  const all = new Map<string, VisibleCnf>();
  const add = (cnf: VisibleCnf): void => {
    const key = `${cnf.namespace}/${cnf.purpose}`;
    if (!all.has(key)) all.set(key, cnf);
  };
  for (const cnf of cnfs) add(cnf);
  for (const rule of rules) {
    const purpose = purposeOf(rule);
    if (purpose !== '') add({ namespace: rule.metadata.namespace, purpose, status: undefined });
  }
  for (const { metadata, spec } of rollOuts) {
    const purpose = spec.template.metadata.labels[PURPOSE_LABEL];
    if (purpose !== undefined) add({ namespace: metadata.namespace, purpose, status: undefined });
  }
  return [...all].sort(([a], [b]) => (a < b ? -1 : 1)).map(([, cnf]) => cnf);
};

/** Enough to ask its agent, and to find its rules. */
export type AgentPod = Pick<VisiblePod, 'name' | 'namespace' | 'purpose'>;
