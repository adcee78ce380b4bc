/** What a viewer must be allowed to list in a namespace, to see of it what the dashboard shows. */
import { cnfStatusResource } from '#shared/resources/cnf-status.ts';
import { kindOf, kinds } from '#shared/resources/registry.ts';
import type { Listed } from './viewer/rights.ts';

export type { Listed };

const listedOf = ({ group, plural }: { group: string; plural: string }): Listed => ({
  group,
  resource: plural,
});

/** Rules of a kind. */
export const resourceOf = (kind: string): Listed | undefined => {
  const known = kindOf(kind);
  return known && listedOf(known);
};
/** Each kind of rules. */
export const ruleResources: readonly (readonly [kind: string, listed: Listed])[] = kinds.map(
  (kind) => [kind.kind, listedOf(kind)],
);
/** What is known of CNFs and their pods. */
export const CNFS = listedOf(cnfStatusResource);
export const EVENTS: Listed = { group: '', resource: 'events' };
/** What pods ask for themselves, such as their networks. */
export const PODS: Listed = { group: '', resource: 'pods' };
