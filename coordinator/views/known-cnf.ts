/** What is known of the CNF that a rule is for. Pure. */
import type { PodNetworks } from '#shared/compile/types.ts';
import type { RuleObject } from '#shared/kube/objects.ts';
import type { CnfStatus } from '#shared/resources/other-kinds/cnf-status.ts';
import { namesAsInterfaces, networksOf } from './networks.ts';
import { purposeOf, type ClusterFacts } from './cluster-facts.ts';

/** Where no pod can be seen, the names of networks stand for their interfaces. */
export type KnownCnf = PodNetworks & {
  rules: readonly RuleObject[];
  seesPods: boolean;
  status: CnfStatus | undefined;
};

export const cnfOf = (rule: RuleObject, facts: ClusterFacts): KnownCnf => {
  const { namespace } = rule.metadata;
  const purpose = purposeOf(rule);
  const rules = facts.rules.filter(
    (one) => one.metadata.namespace === namespace && purposeOf(one) === purpose,
  );
  const known = networksOf(facts, { namespace, purpose });
  const cnf = facts.cnfs.find((one) => one.namespace === namespace && one.purpose === purpose);
  return {
    rules,
    ...(known ?? namesAsInterfaces(rules)),
    seesPods: known !== undefined,
    status: cnf?.status,
  };
};
