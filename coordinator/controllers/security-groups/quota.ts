/** Whether what is to be made fits into the project's quota, asked before it is written. Pure. */
import type { NeutronQuota } from '../../neutron/neutron.ts';

export type Quotas = { security_group: NeutronQuota; security_group_rule: NeutronQuota };

/** What is made besides what is there. */
export type Need = { groups: number; rules: number };

/** Neutron gives each new group two rules, which are deleted at once. */
export const RULES_OF_A_NEW_GROUP = 2;

/** `taken`: what is made before it. Undefined: it fits; else both numbers of each full quota. */
export const quotaProblem = (need: Need, quotas: Quotas, taken: Need): string | undefined => {
  const { security_group: groups, security_group_rule: rules } = quotas;
  const beside = need.groups > 0 ? RULES_OF_A_NEW_GROUP : 0;
  const problems = [
    exceeded('security groups', need.groups, { ...groups, used: groups.used + taken.groups }),
    exceeded('security group rules', need.rules + beside, {
      ...rules,
      used: rules.used + taken.rules,
    }),
  ].filter((problem) => problem !== undefined);
  return problems.length === 0 ? undefined : problems.join(', and ');
};

const exceeded = (
  what: string,
  need: number,
  { limit, used, reserved }: NeutronQuota,
): string | undefined => {
  const taken = used + reserved;
  return limit < 0 || need === 0 || taken + need <= limit
    ? undefined
    : `needs ${need} ${what} more, and of the quota of ${limit} are ${taken} used`;
};
