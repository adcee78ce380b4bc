/** What a viewer must be allowed to list in a namespace, to see of it what the dashboard shows. */
import { cnfDeploymentResource } from '#shared/resources/other-kinds/cnf-deployment.ts';
import { cnfStatusResource } from '#shared/resources/other-kinds/cnf-status.ts';
import type { KindDefinition } from '#shared/resources/kind.ts';
import { policyEnforcementResource } from '#shared/resources/other-kinds/policy-enforcement.ts';
import { mwan3Policy } from '#shared/resources/rules/mwan3-policy.ts';
import { kindOf, kinds } from '#shared/resources/registry.ts';
import type { Listed } from './viewer/rights.ts';

export type { Listed };

export const listedOf = ({ group, plural }: { group: string; plural: string }): Listed => ({
  group,
  resource: plural,
});

/** A NetworkPolicy at a CNF, which agents apply as they do a rule. */
export const POLICY = policyEnforcementResource.kind;
export const shownKinds: readonly KindDefinition[] = [...kinds, policyEnforcementResource];
export const shownKindOf = (kind: string): KindDefinition | undefined =>
  kind === POLICY ? policyEnforcementResource : kindOf(kind);

/** Rules of a kind. */
export const resourceOf = (kind: string): Listed | undefined => {
  const known = shownKindOf(kind);
  return known && listedOf(known);
};
/** What WANs share the traffic by. */
export const SHARES = listedOf(mwan3Policy);
export const ROLL_OUTS = listedOf(cnfDeploymentResource);
/** What is known of CNFs and their pods. */
export const CNFS = listedOf(cnfStatusResource);
export const EVENTS: Listed = { group: '', resource: 'events' };
/** What pods ask for themselves, such as their networks. */
export const PODS: Listed = { group: '', resource: 'pods' };
