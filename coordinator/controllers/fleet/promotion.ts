/** A staged set that people give the traffic before it has every rule, by annotation. Pure. */
import { PROMOTE_ANNOTATION } from '#shared/names.ts';
import type {
  CnfDeployment,
  CnfDeploymentStatus,
} from '#shared/resources/other-kinds/cnf-deployment.ts';

/** Its hash and when it was staged: a set that is staged again is another. Undefined: none is. */
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
