/**
 * What users ask for by annotations of CNFSets and CNFs, and who asks: admission has written that
 * beside the annotation (`admission/requests.ts`). The coordinator takes away what has been served.
 */
import type { KubeClient } from '#shared/kube/client.ts';
import { isOutdated } from '#shared/kube/errors.ts';
import type { RecordedEvent } from '#shared/kube/events.ts';
import type { KubeObject } from '#shared/kube/objects.ts';
import { askedBeside, RESTART_ANNOTATION, ROLL_SET_ANNOTATION } from '#shared/names.ts';
import {
  fleetOrderSchema,
  type RestartOrder,
  type ServedRestart,
} from '#shared/protocol/report.ts';
import type {
  CnfDeployment,
  CnfDeploymentStatus,
} from '#shared/resources/other-kinds/cnf-deployment.ts';
import { cnfSetResource, type CnfSet } from '#shared/resources/other-kinds/cnf-set.ts';
import { cnfResource, type CnfObject } from '#shared/resources/other-kinds/cnf.ts';
import type { Logger } from '#shared/runtime/log.ts';
import { own } from '#shared/util/own.ts';
import { plainText } from '#shared/util/plain-text.ts';
import { truncated } from '../../rule-status/wording.ts';
import type { FleetPodObject } from './apps.ts';
import { serviceRestarted } from './events.ts';

/** Between two tries to take away what has been served. */
const CLEAR_MS = 5_000;
/** Between two sets that are made anew because users ask for it. */
const ROLLED_MS = 600_000;
const ASKED = /^(?<id>[\w-]{1,64}) (?<by>.+)$/s;
const MAX_USER = 253;

export type UserRequest = {
  object: KubeObject;
  annotation: string;
  value: string;
  /** Another one for each request. */
  id: string;
  by: string;
};

/** Undefined: none, or one that has not been through admission. */
export const requestOf = (object: KubeObject, annotation: string): UserRequest | undefined => {
  const { annotations = {} } = object.metadata;
  const value = own(annotations, annotation);
  const { id, by } = ASKED.exec(own(annotations, askedBeside(annotation)) ?? '')?.groups ?? {};
  if (value === undefined || id === undefined || by === undefined) return undefined;
  return { object, annotation, value, id, by: truncated(plainText(by), MAX_USER) };
};

/** What is asked of the set with that hash, or of its CNFs. */
export const firstRollSet = (
  objects: readonly (CnfSet | CnfObject)[],
  set: string | undefined,
): UserRequest | undefined =>
  objects
    .filter(({ spec }) => spec.templateHash === set)
    .map((object) => requestOf(object, ROLL_SET_ANNOTATION))
    .find((request) => request !== undefined);

/** For its agent. Undefined as above, or the service is none that can be restarted. */
const restartOf = (
  object: KubeObject,
): { request: UserRequest; order: RestartOrder } | undefined => {
  const request = requestOf(object, RESTART_ANNOTATION);
  const order = request && { id: request.id, service: request.value };
  const { data } = fleetOrderSchema.shape.restart.safeParse(order);
  return request && data ? { request, order: data } : undefined;
};

/** By the uid of the pod. */
export type Restarts = ReadonlyMap<string, { request: UserRequest; order: RestartOrder }>;

export const restartsOf = (
  live: readonly FleetPodObject[],
  { cnfOf }: { cnfOf: (namespace: string, pod: string) => CnfObject | undefined },
): Restarts =>
  new Map(
    live.flatMap(({ metadata: { namespace, name, uid } }) => {
      const cnf = cnfOf(namespace, name);
      const restart = cnf && restartOf(cnf);
      return restart ? [[uid, restart] as const] : [];
    }),
  );

export type AskedRenewal = Pick<CnfDeploymentStatus, 'renewal' | 'rollSetTime'> & {
  /** What has been done by now. */
  served?: UserRequest;
  /** Milliseconds until it may be done. */
  waitMs?: number;
};

/** `request`: of the set that serves. `atRest`: no other set is asked for. */
export const askedRenewal = (
  { status }: Pick<CnfDeployment, 'status'>,
  request: UserRequest | undefined,
  { atRest, now }: { atRest: boolean; now: number },
): AskedRenewal => {
  const { renewal, rollSetTime } = status ?? {};
  const kept = rollSetTime === undefined ? {} : { rollSetTime };
  if (request === undefined) return kept;
  if (renewal?.pod === request.id) return { ...kept, served: request };
  const waitMs = rollSetTime === undefined ? 0 : Date.parse(rollSetTime) + ROLLED_MS - now;
  if (waitMs > 0) return { ...kept, waitMs };
  if (!atRest) return kept;
  const { by, object } = request;
  const reason = `${object.kind} ${object.metadata.name}: ${by} asks for it`;
  return { renewal: { pod: request.id, reason }, rollSetTime: new Date(now).toISOString() };
};

type Clearing = {
  client: Pick<KubeClient, 'patch'>;
  restartedBy: (podUid: string) => ServedRestart | undefined;
  record: (event: RecordedEvent) => void;
  log: Logger;
};

/** Takes away what has been served. Gives milliseconds after which there is more to do. */
export const clearServed = async (
  { restartedBy, record, ...parts }: Clearing,
  { served: renewed, waitMs }: AskedRenewal,
  restarts: Restarts,
  signal: AbortSignal,
): Promise<number | undefined> => {
  let isDone = renewed === undefined || (await clear(renewed, parts, signal));
  for (const [uid, { request }] of restarts) {
    const served = restartedBy(uid);
    if (served?.id !== request.id) continue;
    if (await clear(request, parts, signal)) record(serviceRestarted(request, served.done));
    else isDone = false;
  }
  return isDone ? waitMs : CLEAR_MS;
};

/** False: not this time. No roll-out waits for it. */
const clear = async (
  { object, annotation }: UserRequest,
  { client, log }: Pick<Clearing, 'client' | 'log'>,
  signal: AbortSignal,
): Promise<boolean> => {
  const { namespace, name, uid, resourceVersion } = object.metadata;
  const annotations = { [annotation]: null, [askedBeside(annotation)]: null };
  const patch = {
    type: 'merge',
    body: { metadata: { uid, resourceVersion, annotations } },
  } as const;
  const resource = object.kind === cnfResource.kind ? cnfResource : cnfSetResource;
  try {
    await client.patch<object>(resource, { namespace, name }, { patch, signal });
    return true;
  } catch (err) {
    if (!isOutdated(err) && !signal.aborted)
      log.warn({ err, namespace, name }, 'failed to take the request of a user away, retrying');
    return false;
  }
};
