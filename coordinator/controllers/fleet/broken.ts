/** Why a CNFDeployment cannot be rolled out until an operator has changed something. */
import { KubeError } from '#shared/kube/errors.ts';
import { mayNotRoll } from '#shared/resources/other-kinds/cnf-deployment.ts';
import type { FleetDeployment } from './apps.ts';

/** Between looks for a name that only people can give. */
export const BROKEN_MS = 15_000;

export class NameTakenError extends Error {
  constructor({ metadata: { name, ownerReferences = [] } }: FleetDeployment) {
    const owner = ownerReferences.find(({ controller }) => controller);
    super(
      owner
        ? `there is a Deployment ${name} that ${owner.kind} ${owner.name} controls: rename one of them`
        : `there is a Deployment ${name} that nothing controls: sdewan rollout adopt ${name} makes it that of the CNFDeployment, and its pods stay; or rename one of them`,
    );
  }
}

/** A template that was stored before it had a bound, or while no webhook was asked. */
export class TooLargeError extends Error {}

/** The API server says so without having been sent anything. */
export class NoRightError extends Error {}

/** A Deployment that does not exist cannot have changed: the conflict is with something else. */
export class DeniedError extends Error {}

export const brokenBy = (
  error: unknown,
  namespace: string,
): { reason: string; message: string } | undefined => {
  if (error instanceof NameTakenError) return { reason: 'NameTaken', message: error.message };
  if (error instanceof TooLargeError) return { reason: 'TooLarge', message: error.message };
  if (error instanceof DeniedError) return { reason: 'Refused', message: error.message };
  if (!(error instanceof KubeError || error instanceof NoRightError)) return undefined;
  const { message } = error;
  const status = error instanceof KubeError ? error.status : FORBIDDEN;
  if (status === FORBIDDEN)
    return {
      reason: 'Forbidden',
      message: `${mayNotRoll(namespace)}; ${message}`,
    };
  return status === INVALID || status === BAD_REQUEST ? { reason: 'Refused', message } : undefined;
};

const FORBIDDEN = 403;
const INVALID = 422;
const BAD_REQUEST = 400;
