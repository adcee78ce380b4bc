/**
 * The checks of CNFDeployments that CEL cannot make: how large a template is, addresses that it
 * cannot keep, and a purpose that another CNF serves. Their CRD says the rest.
 */
import { isDeepStrictEqual } from 'node:util';
import type { PodTemplate } from '#shared/inject/pod.ts';
import { templateWarnings } from '#shared/inject/warnings.ts';
import { PURPOSE_LABEL } from '#shared/names.ts';
import {
  cnfDeploymentResource,
  mayNotRoll,
  tooLarge,
  updatesSchema,
  type CnfUpdates,
} from '#shared/resources/other-kinds/cnf-deployment.ts';
import type { ManagedNetwork } from '#shared/resources/other-kinds/managed-network.ts';
import { keepProblem } from '../../controllers/network-ports/keep-addresses.ts';
import { deployments } from '../../sources/workload.ts';
import { windowProblem } from '../../controllers/fleet/updates/window.ts';
import { denied } from '../decide.ts';
import { allowed, type AdmissionRequest, type ReviewVerdict } from '../review.ts';
import { findSecond, type SecondCnfDeps } from './find-second.ts';
import { roomWarnings } from './room.ts';
import { isAdoptedBy, type CnfIdentity } from './second-cnf.ts';
import { adoptingSelectorIn, templateIn } from './template.ts';

type CnfDeploymentDeps = SecondCnfDeps & {
  /** Whether the coordinator has the right to make the Deployment. @throws KubeError */
  mayRoll: (namespace: string, signal: AbortSignal) => Promise<boolean>;
  /** @throws KubeError */
  networks: (signal: AbortSignal) => Promise<ManagedNetwork[]>;
};

/** Validating. */
export const createCnfDeploymentWebhook =
  (deps: CnfDeploymentDeps) =>
  async (request: AdmissionRequest, signal: AbortSignal): Promise<ReviewVerdict> => {
    const { namespace, object, oldObject, operation } = request;
    if (operation === 'DELETE' || !object || !isCnfDeployment(request)) return allowed;
    const problem = problemOf(object, oldObject);
    if (problem !== undefined) return denied({ reason: 'InvalidSpec' }, problem);
    const template = podTemplateIn(object);
    const warnings = [
      ...(template ? templateWarnings(template) : []),
      ...(await rightWarnings(deps, namespace, signal)),
      ...(await addressWarnings(deps, request, signal)),
    ];
    const taken = { ...allowed, warnings };
    const purpose = purposeIn(object);
    if (purpose === undefined || purpose === purposeIn(oldObject)) return taken;
    const { name, uid } = object.metadata;
    const own = { kind: cnfDeploymentResource.kind, name, uid };
    const selector = adoptingSelectorIn(object);
    const second = await findSecond(
      deps,
      { namespace, purpose, own, signal },
      (other) => isToBeAdopted(other, name) || isAdoptedBy(selector, other),
    );
    if (second === undefined) return taken;
    return denied(second, `spec.template.metadata.labels.${PURPOSE_LABEL}: ${second.message}`);
  };

/** Without an answer, none: the status says it, too. */
const rightWarnings = async (
  { log, mayRoll }: CnfDeploymentDeps,
  namespace: string,
  signal: AbortSignal,
): Promise<string[]> => {
  try {
    return (await mayRoll(namespace, signal)) ? [] : [mayNotRoll(namespace)];
  } catch (err) {
    log.warn({ err, namespace }, 'failed to ask for the right to roll CNFs, not warning about it');
    return [];
  }
};

/** As above: pods that wait say it. */
const addressWarnings = async (
  { log, networks }: CnfDeploymentDeps,
  { namespace, object }: AdmissionRequest,
  signal: AbortSignal,
): Promise<string[]> => {
  const { data } = cnfDeploymentResource.spec.safeParse(object?.['spec']);
  try {
    return data ? roomWarnings(data, namespace, await networks(signal)) : [];
  } catch (err) {
    log.warn({ err, namespace }, 'failed to list networks, not warning about their addresses');
    return [];
  }
};

const isCnfDeployment = ({ resource }: AdmissionRequest): boolean =>
  resource.group === cnfDeploymentResource.group &&
  resource.resource === cnfDeploymentResource.plural;

type Reviewed = AdmissionRequest['object'];

/** Looks at what changes: what was stored before there was a check can be changed otherwise. */
const problemOf = (object: Reviewed, oldObject: Reviewed): string | undefined => {
  const isSame = (part: (of: Reviewed) => unknown): boolean =>
    isDeepStrictEqual(part(object), part(oldObject));
  const size = isSame(templateOf) ? undefined : tooLarge(templateOf(object));
  if (size !== undefined) return size;
  const kept = keepProblem(object);
  if (kept !== undefined && kept !== keepProblem(oldObject)) return `spec.template: ${kept}`;
  const updates = updatesIn(object);
  return updates && !isSame(updatesIn) ? windowProblem(updates, Date.now()) : undefined;
};

const updatesIn = (object: Reviewed): CnfUpdates | undefined =>
  updatesSchema.safeParse(Object(object?.['spec']).updates).data;

const templateOf = (object: Reviewed): unknown => {
  const spec = object?.['spec'];
  return typeof spec === 'object' && spec !== null && 'template' in spec
    ? spec.template
    : undefined;
};

/** What has no good template is refused by the API server itself. */
const podTemplateIn = (object: AdmissionRequest['object']): PodTemplate | undefined => {
  try {
    return object ? templateIn(object) : undefined;
  } catch {
    return undefined;
  }
};

const purposeIn = (object: AdmissionRequest['object']): string | undefined =>
  podTemplateIn(object)?.metadata?.labels?.[PURPOSE_LABEL];

/** `sdewan rollout adopt` makes it that of the CNFDeployment. */
const isToBeAdopted = (other: CnfIdentity, name: string): boolean =>
  other.kind === deployments.kind && other.name === name;
