/**
 * Watches CNF pods and what agents report of their OpenWRT; owns the CNFStatus of each purpose that
 * has pods, and writes ICN's, too. An object is written when what is known differs from it, not
 * more often than the limits below. Removes only what it made.
 */
import { createHash } from 'node:crypto';
import { isDeepStrictEqual } from 'node:util';
import { PAGE_SIZE, type KubeClient } from '#shared/kube/client.ts';
import {
  againIn,
  createController,
  OVERTAKEN,
  type ControllerDeps,
  type Outcome,
} from '#shared/kube/controller.ts';
import { replaceStatus } from '#shared/kube/fenced.ts';
import { isManaged } from '#shared/kube/objects.ts';
import { find, isOvertaken, keep } from '#shared/kube/owned.ts';
import { KEPT_SELECTOR, MANAGED_BY, PURPOSE_LABEL } from '#shared/names.ts';
import {
  CLASSIC_NAME,
  cnfStatusResource,
  type CnfStatus,
  type CnfStatusObject,
} from '#shared/resources/other-kinds/cnf-status.ts';
import { classicStatusOf, statusOf, type ReportedPod } from './status.ts';

type Cnf = { namespace: string; purpose: string };

/** What is known of the pods of one purpose, or of all. */
export type ReportedPods = (of?: Cnf) => readonly ReportedPod[];

export type CnfStatusDeps = ControllerDeps & {
  client: KubeClient;
  /** Undefined until the pods are known. */
  pods: () => ReportedPods | undefined;
  /** Where ICN's object is; undefined: it is not kept. */
  classicNamespace: string | undefined;
  /** The only namespace that is looked after; undefined: all. */
  namespace: string | undefined;
};

export type CnfStatusController = {
  /**
   * Something about the pods of the purpose has changed; `haste`: whether it has changed that their
   * OpenWRTs can be reported, and not only how they are.
   */
  mark: (cnf: Cnf, haste: boolean) => void;
  run: (signal: AbortSignal) => Promise<void>;
};

/** What comes together, e.g. the reports of all pods, is written once. */
const COALESCE_MS = cnfStatusResource.coalesceMs;
/** Between two writes of one object: a tunnel that flaps must not keep the API server busy. */
const WRITE_INTERVAL_MS = 5_000;
/**
 * The same when the problem of a pod has begun or ended, and before such a write: a user sees it
 * within a second.
 */
const PROBLEM_INTERVAL_MS = 500;
const PROBLEM_COALESCE_MS = 50;
/** For all pods, so it changes most often; ICN's controller writes it as often. */
const CLASSIC_INTERVAL_MS = 30_000;
const CONCURRENCY = 2;
/** Keys are `namespace/purpose`, and this one for ICN's object. */
const CLASSIC = '';

export const createCnfStatusController = (deps: CnfStatusDeps): CnfStatusController => {
  const { client, classicNamespace, clock, log, namespace: only } = deps;
  const owned = { client, resource: cnfStatusResource };
  const written = new Map<string, { at: number; problems: string }>();

  const placeOf = (cnf: Cnf | undefined) => ({
    namespace: cnf?.namespace ?? classicNamespace ?? '',
    name: cnf === undefined ? CLASSIC_NAME : objectNameOf(cnf.purpose),
  });

  const waitOf = (key: string, problems: string): number => {
    const last = written.get(key);
    if (last === undefined) return 0;
    const usual = last.problems === problems ? WRITE_INTERVAL_MS : PROBLEM_INTERVAL_MS;
    return last.at + (key === CLASSIC ? CLASSIC_INTERVAL_MS : usual) - clock.monotonic();
  };

  const reconcile = async (
    key: string,
    podsOf: ReportedPods,
    signal: AbortSignal,
  ): Promise<Outcome> => {
    const cnf = key === CLASSIC ? undefined : cnfOf(key);
    const pods = podsOf(cnf);
    const problems = problemsOf(pods);
    const wait = waitOf(key, problems);
    if (wait > 0) return againIn(wait);
    const place = placeOf(cnf);
    const present = await find(client, cnfStatusResource, place, { signal });
    if (pods.length === 0 && cnf) return remove(present, signal);
    if (!present && pods.length === 0) return 'done';
    const labels = { ...MANAGED_BY, ...(cnf && { [PURPOSE_LABEL]: cnf.purpose }) };
    const desired = { metadata: { ...place, labels }, fields: { spec: {} } };
    const object = present ?? (await keep({ ...owned, signal }, desired, undefined)).object;
    // Another client has created it meanwhile.
    if (!object) return OVERTAKEN;
    const isNews = await say(object, cnf ? statusOf(pods) : classicStatusOf(pods), signal);
    if (isNews) written.set(key, { at: clock.monotonic(), problems });
    return 'done';
  };

  /** True when it had to be written. */
  const say = async (
    object: CnfStatusObject,
    status: CnfStatus,
    signal: AbortSignal,
  ): Promise<boolean> => {
    if (isDeepStrictEqual(status, withoutTime(object.status))) return false;
    const appliedTime = new Date(clock.now()).toISOString().replace(/\.\d+Z$/, 'Z');
    const { generation: appliedGeneration } = object.metadata;
    const stamped = { ...status, appliedTime, ...(appliedGeneration && { appliedGeneration }) };
    await replaceStatus({ client, resource: cnfStatusResource, object }, stamped, { signal });
    return true;
  };

  /** Only ours is removed. */
  const remove = async (
    object: CnfStatusObject | undefined,
    signal: AbortSignal,
  ): Promise<Outcome> => {
    if (!object || !isManaged(object)) return 'done';
    const { outcome } = await keep({ ...owned, signal }, undefined, object);
    return isOvertaken(outcome) ? OVERTAKEN : 'done';
  };

  const mark: CnfStatusController['mark'] = ({ namespace, purpose }, haste) => {
    controller.mark(`${namespace}/${purpose}`, haste ? PROBLEM_COALESCE_MS : COALESCE_MS);
    if (classicNamespace !== undefined) controller.mark(CLASSIC);
  };

  /** Those of CNFs that are there, and of those that went while this replica did not lead. */
  const markAll = async (signal: AbortSignal): Promise<void> => {
    for (const pod of deps.pods()?.() ?? []) mark(pod, false);
    const selection = {
      namespace: only,
      labelSelector: KEPT_SELECTOR,
      pageSize: PAGE_SIZE,
      signal,
    };
    try {
      const { items } = await client.list(cnfStatusResource, selection);
      for (const { metadata } of items) {
        const purpose = metadata.labels?.[PURPOSE_LABEL];
        if (purpose !== undefined) mark({ namespace: metadata.namespace, purpose }, false);
      }
    } catch (err) {
      if (!signal.aborted) log.warn({ err }, 'failed to list CNFStatus objects');
    }
  };

  const controller = createController({
    ...deps,
    name: 'cnf-status',
    facts: deps.pods,
    markAll,
    reconcile,
    coalesceMs: COALESCE_MS,
    concurrency: CONCURRENCY,
    fieldsOf: (key) => ({ cnf: key === CLASSIC ? CLASSIC_NAME : key }),
  });

  return { mark, run: controller.run };
};

const problemsOf = (pods: readonly ReportedPod[]): string =>
  JSON.stringify(pods.map(({ name, problem }) => `${name}: ${problem}`).toSorted(byText));

const byText = (one: string, other: string): number => (one < other ? -1 : 1);

const cnfOf = (key: string): Cnf => {
  const at = key.indexOf('/');
  return { namespace: key.slice(0, at), purpose: key.slice(at + 1) };
};

/** Label values can have capitals and `_`, names of objects cannot; a hash keeps them apart. */
export const objectNameOf = (purpose: string): string => {
  const name = purpose
    .toLowerCase()
    .replaceAll(/[^a-z0-9.-]/g, '-')
    .replaceAll(/\.+/g, '.');
  if (name === purpose) return name;
  const hash = createHash('sha256').update(purpose).digest('hex').slice(0, 8);
  return `${name.replaceAll('.', '-')}-${hash}`;
};

const withoutTime = (status: CnfStatus | undefined): CnfStatus => {
  const { appliedTime: _time, appliedGeneration: _generation, ...rest } = status ?? {};
  return rest;
};
