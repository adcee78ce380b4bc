/** What a look reads from the API server, and a CNFDeployment's Deployment as it is written. */
import { isAllowed } from '#shared/kube/access.ts';
import { PAGE_SIZE, type KubeClient, type NewObject } from '#shared/kube/client.ts';
import { isConflict } from '#shared/kube/errors.ts';
import type { RecordedEvent } from '#shared/kube/events.ts';
import { find, isControlledBy } from '#shared/kube/owned.ts';
import type { CnfDeployment } from '#shared/resources/other-kinds/cnf-deployment.ts';
import {
  fleetDeployments,
  fleetPods,
  fleetReplicaSets,
  isFinished,
  isLive,
  type Found,
  type FleetDeployment,
  type FleetPodObject,
} from './apps.ts';
import { DeniedError, NameTakenError, NoRightError } from './broken.ts';
import { deploymentBody, hashOf, selectorOf } from './deployment.ts';
import { deploymentReverted } from './events.ts';
import type { Mirror } from './mirror/writer.ts';
import { oursOf, sifting } from './owned-lists.ts';
import type { UnansweredWrites } from './unanswered.ts';

type Call = { client: KubeClient; signal: AbortSignal };

/** The CRD takes any field of a template: an unknown one would be dropped without a word. */
const STRICT = { fieldValidation: 'Strict' } as const;

/** From the API server. @throws NameTakenError */
export const look = async (
  cnf: CnfDeployment,
  { client, mirror, signal }: Call & { mirror: Pick<Mirror, 'cnfOf'> },
): Promise<Found> => {
  const { namespace: where, name } = cnf.metadata;
  const present = await find(client, fleetDeployments, { namespace: where, name }, { signal });
  if (present && !isControlledBy(present, cnf)) throw new NameTakenError(present);
  const labelSelector = selectorOf(cnf);
  const selection = { namespace: where, labelSelector, pageSize: PAGE_SIZE, signal };
  const ownSets = sifting(fleetReplicaSets, (set) => !!present && isControlledBy(set, present));
  const sets = oursOf((await client.list(ownSets, selection)).items);
  // Thousands may have ended: only names are kept, and only of those that a CNF is there for.
  const finished: string[] = [];
  const isOurs = (pod: FleetPodObject): boolean => {
    const { name: podName } = pod.metadata;
    if (isFinished(pod) && mirror.cnfOf(where, podName)) finished.push(podName);
    return isLive(pod) && sets.some((set) => isControlledBy(pod, set));
  };
  const live = oursOf((await client.list(sifting(fleetPods, isOurs), selection)).items);
  return { present, sets, live, finished };
};

export const writeDeployment = async (
  cnf: CnfDeployment,
  spec: object,
  {
    client,
    present,
    record,
    writes,
    signal,
  }: Call & {
    present: FleetDeployment | undefined;
    record: (event: RecordedEvent) => void;
    writes: UnansweredWrites;
  },
): Promise<FleetDeployment> => {
  await assertRight(cnf, present ? 'update' : 'create', { client, signal });
  const body = deploymentBody(cnf, spec, present);
  if (!present) return create(body, { client, signal });
  const { generation, uid } = present.metadata;
  const known = cnf.status?.deployment;
  const isSame = known?.uid === uid && known.written === hashOf(spec);
  const isTheirs = isSame && known.generation !== generation;
  const isAnother = (after: FleetDeployment | undefined): boolean =>
    after?.metadata.uid === uid && after.metadata.generation !== generation;
  return writes.andThen(cnf, () => client.replace(fleetDeployments, body, { ...STRICT, signal }), {
    tookEffect: (_, found) => isAnother(found.present),
    follow: (after) => {
      if (isTheirs && (!after || isAnother(after))) record(deploymentReverted(cnf));
    },
  });
};

/**
 * Before a template is sent: the API server answers a user without the right before it has read the
 * body. @throws NoRightError
 */
const assertRight = async (
  { metadata }: CnfDeployment,
  verb: string,
  { client, signal }: Call,
): Promise<void> => {
  const { group, plural: resource } = fleetDeployments;
  const asked = { verb, group, resource, namespace: metadata.namespace };
  if (!(await isAllowed(client, asked, signal)))
    throw new NoRightError(`it may not ${verb} ${resource}.${group} there`);
};

/** @throws DeniedError where a webhook refuses, e.g. since another CNF serves the purpose */
const create = async (body: NewObject, { client, signal }: Call): Promise<FleetDeployment> => {
  try {
    return await client.create(fleetDeployments, body, { ...STRICT, signal });
  } catch (error) {
    if (isConflict(error) && error.reason !== 'AlreadyExists')
      throw new DeniedError(error.message, { cause: error });
    throw error;
  }
};
