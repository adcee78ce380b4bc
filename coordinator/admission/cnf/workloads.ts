/**
 * The webhooks for workloads that bear the purpose label, or whose pod template does. They warn at
 * `kubectl apply` of what would otherwise only show when pods are made, refuse annotations that
 * would have a CNF enforce something else than is meant, or its pods wait for ever, and put the
 * label into a pod template that lacks it: without it no pod would be seen or injected.
 */
import { readOptions } from '#shared/inject/annotations.ts';
import type { InjectOptions } from '#shared/inject/options.ts';
import { policyNetworksIn } from '#shared/inject/policy-networks.ts';
import { withPurpose } from '#shared/inject/purpose.ts';
import { templateWarnings } from '#shared/inject/warnings.ts';
import { PURPOSE_LABEL } from '#shared/names.ts';
import type { Logger } from '#shared/runtime/log.ts';
import { keepProblem } from '../../controllers/network-ports/keep-addresses.ts';
import { keysWarning } from '../../sources/key-access.ts';
import { DEFAULT_SERVICE_ACCOUNT, workloadOf, type Workload } from '../../sources/workload.ts';
import { denied } from '../decide.ts';
import { allowed, type AdmissionRequest, type ReviewVerdict } from '../review.ts';
import type { CnfLookups } from './lookups.ts';
import { findSecond } from './find-second.ts';
import { isAdoptedBy, servedBy, type CnfIdentity } from './second-cnf.ts';
import { adoptingSelectorIn, templateIn } from './template.ts';

/** Mutating. Leaves a template alone that has the label, whatever its value. */
export const labelTemplate = ({ object, operation }: AdmissionRequest): ReviewVerdict => {
  if (operation === 'DELETE' || !object) return allowed;
  const { purpose, templatePurpose, deleting, kind, name } = workloadOf(object);
  if (!purpose || templatePurpose !== undefined || deleting) return allowed;
  const { metadata } = withPurpose(templateIn(object), purpose);
  return {
    allowed: true,
    warnings: [
      `${kind} ${name}: the pod template had no label ${PURPOSE_LABEL}; it was set to ${purpose}, because no rule reaches the pods without it`,
    ],
    patch: [{ op: 'add', path: '/spec/template/metadata', value: metadata }],
  };
};

export type WorkloadWebhookDeps = {
  defaults: InjectOptions;
  /** Kinds that hold keys. */
  keyKinds: readonly string[];
  lookups: CnfLookups;
  announce: (namespace: string) => void;
  log: Logger;
};

/** Validating. */
export const createWorkloadWebhook =
  (deps: WorkloadWebhookDeps) =>
  async (request: AdmissionRequest, signal: AbortSignal): Promise<ReviewVerdict> => {
    const { defaults, announce } = deps;
    const { object, oldObject, namespace, operation, dryRun } = request;
    if (operation === 'DELETE' || !object) return allowed;
    const workload = workloadOf(object);
    const purpose = servedBy(workload);
    if (purpose === undefined || workload.deleting) return allowed;
    if (!dryRun) announce(namespace);
    const problem = newProblem(request);
    if (problem !== undefined) return denied({ reason: 'NotInjectable' }, problem);
    const old = workloadBefore(oldObject);
    const warnings = [
      ...warningsOf(workload, object, defaults),
      ...(await keysWarningsOf(workload, old, namespace, { ...deps, signal })),
    ];
    if (old && servedBy(old) === purpose) return { allowed: true, warnings };
    const own = identityOf(workload, namespace, deps.lookups, signal);
    const selector = adoptingSelectorIn(object);
    const second = await findSecond(deps, { namespace, purpose, own, signal }, (other) =>
      isAdoptedBy(selector, other),
    );
    if (second === undefined) return { allowed: true, warnings };
    // By its template alone it may wait for the other one to go: its pods are denied until then.
    return dryRun || workload.purpose !== purpose
      ? { allowed: true, warnings: [...warnings, second.message] }
      : denied(second, second.message, warnings);
  };

/** One that is stored already can still be scaled: its pods are denied, and say so. */
const newProblem = ({ object, oldObject }: AdmissionRequest): string | undefined => {
  const known = oldObject ? problemsOf(oldObject) : [];
  return problemsOf(object).find((problem) => !known.includes(problem));
};

const problemsOf = (object: unknown): readonly string[] => {
  const kept = keepProblem(object);
  const { problems } = policyNetworksIn(templateIn(object).metadata?.annotations ?? {});
  return [...problems, ...(kept === undefined ? [] : [kept])];
};

const workloadBefore = (oldObject: AdmissionRequest['oldObject']): Workload | undefined =>
  oldObject ? workloadOf(oldObject) : undefined;

const identityOf = async (
  { kind, name, uid, controller }: Workload,
  namespace: string,
  lookups: CnfLookups,
  signal: AbortSignal,
): Promise<CnfIdentity> =>
  controller
    ? lookups.rootOf(namespace, controller, signal)
    : { kind, name, uid: uid === '' ? undefined : uid };

/** Once, when it becomes so; without an answer, none. */
const keysWarningsOf = async (
  { serviceAccount }: Workload,
  before: Workload | undefined,
  namespace: string,
  { keyKinds, lookups, log, signal }: WorkloadWebhookDeps & { signal: AbortSignal },
): Promise<string[]> => {
  if (keyKinds.length === 0 || serviceAccount === before?.serviceAccount) return [];
  if (serviceAccount !== DEFAULT_SERVICE_ACCOUNT) return [];
  try {
    return (await lookups.defaultReadsKeys(namespace, signal)) ? [] : [keysWarning(keyKinds)];
  } catch (err) {
    log.warn({ err, namespace }, 'failed to read the namespace of a CNF, not warning about keys');
    return [];
  }
};

const warningsOf = (
  { purpose, templatePurpose }: Workload,
  object: unknown,
  defaults: InjectOptions,
): string[] => {
  const template = templateIn(object);
  const read = readOptions(template, defaults);
  return [
    ...templateWarnings(template),
    ...('problems' in read
      ? read.problems.map((problem) => `the webhook will deny the pods: ${problem}`)
      : []),
    ...(purpose && templatePurpose !== undefined && templatePurpose !== purpose
      ? [
          `label ${PURPOSE_LABEL} is ${purpose} here and ${templatePurpose} in the pod template; the pod template's takes effect`,
        ]
      : []),
  ];
};
