/**
 * `sdewan rollout adopt`: a Deployment of people gets a CNFDeployment as its owner. By the rights
 * of who asks: the coordinator has none to take over anything. Pure.
 */
import { isDeepStrictEqual } from 'node:util';
import { PURPOSE_LABEL } from '#shared/names.ts';
import type { CnfDeployment } from '#shared/resources/other-kinds/cnf-deployment.ts';
import type { FleetDeployment } from '../../controllers/fleet/apps.ts';
import { isControlledBy } from '#shared/kube/owned.ts';
import { ownerOf } from '../../controllers/fleet/deployment.ts';
import type { Change } from './change.ts';

/** `others`: kinds of other workloads that have its name. */
export const adopted = (
  cnf: CnfDeployment,
  deployment: FleetDeployment | undefined,
  others: readonly string[],
): Change => {
  const why = whyNot(cnf, deployment, others);
  if (!deployment || why !== undefined) return { said: why ?? 'there is no Deployment' };
  const { uid, resourceVersion, ownerReferences = [] } = deployment.metadata;
  return {
    patch: {
      type: 'json',
      body: [
        { op: 'test', path: '/metadata/uid', value: uid },
        { op: 'test', path: '/metadata/resourceVersion', value: resourceVersion },
        { op: 'add', path: '/metadata/ownerReferences', value: [...ownerReferences, ownerOf(cnf)] },
      ],
    },
    said: `Deployment ${deployment.metadata.name} is its own from now on, and its pods stay`,
  };
};

const whyNot = (
  cnf: CnfDeployment,
  deployment: FleetDeployment | undefined,
  [other]: readonly string[],
): string | undefined => {
  if (deployment) return whyOthers(cnf, deployment) ?? whyDiffers(cnf, deployment);
  return other === undefined
    ? `there is no Deployment ${cnf.metadata.name}: the coordinator makes one`
    : `a ${other} cannot be adopted: it has no second set of pods beside the one that serves; make a Deployment of it first`;
};

const whyOthers = (cnf: CnfDeployment, deployment: FleetDeployment): string | undefined => {
  const { name, ownerReferences = [], deletionTimestamp } = deployment.metadata;
  if (isControlledBy(deployment, cnf)) return `Deployment ${name} is its own already`;
  const owner = ownerReferences.find(({ controller }) => controller);
  if (owner) return `Deployment ${name} is controlled by ${owner.kind} ${owner.name}`;
  return deletionTimestamp === undefined ? undefined : `Deployment ${name} is being deleted`;
};

const whyDiffers = (
  cnf: CnfDeployment,
  { metadata, spec }: FleetDeployment,
): string | undefined => {
  const { name } = metadata;
  if (!isDeepStrictEqual(spec.selector, cnf.spec.selector))
    return `spec.selector of Deployment ${name} is ${JSON.stringify(spec.selector)}, and that of the CNFDeployment ${JSON.stringify(cnf.spec.selector)}: make the latter anew with the same`;
  const purpose = spec.template.metadata?.labels?.[PURPOSE_LABEL];
  const asked = cnf.spec.template.metadata.labels[PURPOSE_LABEL];
  return purpose === asked
    ? undefined
    : `Deployment ${name} serves purpose ${purpose}, and the CNFDeployment ${asked}`;
};
