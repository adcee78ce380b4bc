/** A staged set to which people give the traffic before it has every rule: which one, as the annotation names it. Pure. */
import { PROMOTE_ANNOTATION } from '#shared/names.ts';
import type { CnfDeployment, CnfDeploymentStatus } from '#shared/resources/cnf-deployment.ts';

/** Its hash and when it was staged, so that the same set, staged again later, is not meant. Undefined: nothing is staged. */
export const promotionOf = ({ stagedRevision, staged }: CnfDeploymentStatus = {}):
  | string
  | undefined =>
  stagedRevision !== undefined && staged !== undefined
    ? `${stagedRevision}/${staged.since}`
    : undefined;

export const isPromoted = ({ metadata, status }: CnfDeployment): boolean => {
  const asked = metadata.annotations?.[PROMOTE_ANNOTATION];
  return asked !== undefined && asked === promotionOf(status);
};
