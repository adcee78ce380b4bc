/**
 * The webhook that puts the agent into CNF pods when they are created, the gate of roll-outs into
 * those of a staged set, and a scheduling gate into those that wait for addresses. It fails closed
 * behind a selector on the purpose label: no CNF starts without its agent, and the API server asks
 * about no other pod. Pods of namespaces with label `inject: disabled`, and those with an owner and
 * annotation `inject: "false"`, never get here (deploy/webhooks/mutating.yaml).
 */
import { isDeepStrictEqual } from 'node:util';
import { isOptedOut } from '#shared/inject/annotations.ts';
import { injectAnnotated, isInjected } from '#shared/inject/inject.ts';
import type { InjectOptions } from '#shared/inject/options.ts';
import type { PodTemplate } from '#shared/inject/pod.ts';
import { templateWarnings } from '#shared/inject/warnings.ts';
import { HANDED_OVER_GATE, PURPOSE_LABEL } from '#shared/names.ts';
import type { Logger } from '#shared/runtime/log.ts';
import { keysWarning, runsAsDefault } from '../../sources/key-access.ts';
import { controllerFactsOf } from '../../sources/workload.ts';
import { denied } from '../decide.ts';
import type { AdmissionRefusal } from '../refusals.ts';
import {
  allowed,
  type AdmissionRequest,
  type JsonPatchOperation,
  type ReviewVerdict,
} from '../review.ts';
import type { Gates } from './gate.ts';
import type { PortsGate } from './ports-gate.ts';
import type { CnfLookups } from './lookups.ts';
import { findSecond, type SecondCnfDeps } from './find-second.ts';
import type { CnfIdentity } from './second-cnf.ts';
import { templateOf } from './template.ts';

export type PodWebhookDeps = {
  defaults: InjectOptions;
  /** Kinds that hold keys: not for service account `default`, which every pod can run as. */
  keyKinds: readonly string[];
  lookups: CnfLookups;
  gates: Gates;
  portsGate: PortsGate;
  /** Called with each namespace in which a CNF is about to appear: what it needs is created now. */
  announce: (namespace: string) => void;
  log: Logger;
};

export type PodWebhook = (request: AdmissionRequest, signal: AbortSignal) => Promise<ReviewVerdict>;

export const createPodWebhook =
  (deps: PodWebhookDeps): PodWebhook =>
  async (request, signal) => {
    const { namespace, dryRun } = request;
    const pod = cnfPodIn(request);
    if (pod === undefined) return allowed;
    const optsOut = isOptedOut(pod);
    if (!dryRun && !optsOut) deps.announce(namespace);
    const refusal = await refuseSecond(deps, request, pod, signal);
    if (refusal) return refuse(refusal, dryRun);
    const ports = await deps.portsGate(request, signal);
    if ('refusal' in ports) return refuse(ports.refusal, dryRun);
    // Injected by the CLI, with options that the manifest's author chose, or by us in an earlier
    // round.
    if (optsOut || isInjected(pod))
      return ports.patch.length > 0 ? { ...allowed, patch: ports.patch } : allowed;
    const [options, waits] = await Promise.all([
      optionsFor(deps, namespace, pod, signal),
      deps.gates(request, signal),
    ]);
    return injectPod(pod, { options, waits, gate: ports.patch }, dryRun);
  };

/** Undefined: the request makes none. */
const cnfPodIn = ({ object, operation }: AdmissionRequest): PodTemplate | undefined => {
  if (operation !== 'CREATE' || !object) return undefined;
  const pod = templateOf(object);
  return pod.metadata?.labels?.[PURPOSE_LABEL] === undefined ? undefined : pod;
};

/**
 * For all pods of a purpose, those too that do not want an agent or bring one: a second CNF is
 * refused however its pods have come to the label. A coordinator that is away holds none of them
 * up.
 */
export const createSecondCnfWebhook =
  (deps: SecondCnfDeps): PodWebhook =>
  async (request, signal) => {
    const { object, operation, dryRun } = request;
    if (operation !== 'CREATE' || !object) return allowed;
    const refusal = await refuseSecond(deps, request, templateOf(object), signal);
    return refusal ? refuse(refusal, dryRun) : allowed;
  };

type Injection = { options: InjectOptions; waits: boolean; gate: readonly JsonPatchOperation[] };

const injectPod = (
  pod: PodTemplate,
  { options, waits, gate }: Injection,
  dryRun: boolean | null | undefined,
): ReviewVerdict => {
  if (!pod.metadata?.labels?.[PURPOSE_LABEL]) {
    const message = `label ${PURPOSE_LABEL} is empty: it must name the purpose of the CNF`;
    return refuse({ reason: 'NotInjectable', message }, dryRun);
  }
  const result = injectAnnotated(pod, options);
  if ('problems' in result)
    return refuse({ reason: 'NotInjectable', message: result.problems.join('; ') }, dryRun);
  const { withoutKinds = [] } = options;
  const warnings = [
    ...(withoutKinds.length > 0 ? [keysWarning(withoutKinds)] : []),
    ...templateWarnings(pod),
  ];
  const patch = [
    ...patchBetween(pod, result.injected),
    ...(waits ? [gatePatch(pod)] : []),
    ...gate,
  ];
  return { allowed: true, warnings, patch };
};

const gatePatch = ({ spec: { readinessGates } }: PodTemplate): JsonPatchOperation => ({
  op: 'add',
  path: '/spec/readinessGates',
  value: [
    ...(Array.isArray(readinessGates) ? readinessGates : []),
    { conditionType: HANDED_OVER_GATE },
  ],
});

const refuse = (refusal: AdmissionRefusal, dryRun: boolean | null | undefined): ReviewVerdict =>
  dryRun ? { allowed: true, warnings: [refusal.message] } : denied(refusal, refusal.message);

const refuseSecond = (
  deps: SecondCnfDeps,
  { namespace, object }: AdmissionRequest,
  pod: PodTemplate,
  signal: AbortSignal,
): Promise<AdmissionRefusal | undefined> => {
  const purpose = pod.metadata?.labels?.[PURPOSE_LABEL] ?? '';
  const { controller } = controllerFactsOf(object);
  // A bare pod never counts as one of an owner, whatever its name is.
  const bare: CnfIdentity = { kind: 'Pod', name: object?.metadata.name ?? '' };
  const own = controller === undefined ? bare : deps.lookups.rootOf(namespace, controller, signal);
  return findSecond(deps, { namespace, purpose, own, signal });
};

const optionsFor = async (
  { defaults, keyKinds, lookups }: PodWebhookDeps,
  namespace: string,
  { spec }: PodTemplate,
  signal: AbortSignal,
): Promise<InjectOptions> => {
  if (!runsAsDefault(spec) || keyKinds.length === 0) return defaults;
  const readsKeys = await lookups.defaultReadsKeys(namespace, signal);
  return readsKeys ? defaults : { ...defaults, withoutKinds: keyKinds };
};

const PATCHED = ['initContainers', 'containers', 'volumes'] as const;

const patchBetween = (before: PodTemplate, after: PodTemplate): JsonPatchOperation[] => [
  { op: 'add', path: '/metadata/annotations', value: after.metadata?.annotations },
  ...PATCHED.filter((field) => !isDeepStrictEqual(before.spec[field], after.spec[field])).map(
    (field): JsonPatchOperation => ({
      op: 'add',
      path: `/spec/${field}`,
      value: after.spec[field],
    }),
  ),
];
