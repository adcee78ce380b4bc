/** The status of a CNFDeployment out of what a look has found. Pure. */
import { few } from '#shared/util/few.ts';
import {
  MAX_WAITS,
  type CnfDeployment,
  type CnfDeploymentStatus,
  type FleetCondition,
} from '#shared/resources/other-kinds/cnf-deployment.ts';
import { conditionOf } from '../../rule-status/conditions.ts';
import { truncated } from '../../rule-status/wording.ts';
import { healthOf, isInSync, type CnfFacts } from './mirror/facts.ts';
import { selectorOf } from './deployment.ts';
import { distancesKept, keptOf } from './remembered.ts';
import type { Memory, RollOutStep } from './decide.ts';
import { IMAGES_CURRENT, type UpdateStep } from './updates/decide.ts';

export type RollOutView = {
  now: number;
  pods: readonly CnfFacts[];
  step: RollOutStep;
  /** Hash of the template that is asked for. */
  asked: string;
  deployment: CnfDeploymentStatus['deployment'];
  /** What Kubernetes says of pods that it cannot make. */
  failure: string | undefined;
  /** Why a pod that is overdue is not replaced. */
  held: string | undefined;
  renewal: CnfDeploymentStatus['renewal'];
  rollSetTime: CnfDeploymentStatus['rollSetTime'];
  revisions: Revisions;
  update: Pick<UpdateStep, 'kept' | 'told'>;
};

/** Kubernetes' numbers of sets, by their hashes. */
export type Revisions = ReadonlyMap<string, number>;

/** As people name it. */
export const revisionText = (set: string, revisions: Revisions): string =>
  String(revisions.get(set) ?? set);

const MAX_TEXT = 1_024;

export const fleetStatus = (cnf: CnfDeployment, view: RollOutView): CnfDeploymentStatus => {
  const { step, pods, failure, deployment } = view;
  const ready = pods.filter(({ ready: is }) => is).length;
  const waitsFor = [...(failure === undefined ? [] : [failure]), ...step.waitsFor];
  const { failed } = step.memory;
  const message = failed ? failureOf(failed, view.revisions) : (view.held ?? waitsFor[0]);
  return {
    ...(cnf.metadata.generation !== undefined && { observedGeneration: cnf.metadata.generation }),
    targetReplicas: cnf.spec.replicas,
    replicas: pods.length,
    readyReplicas: ready,
    progressingReplicas: pods.filter((pod) => healthOf(pod) === 'progressing').length,
    unhealthyReplicas: pods.filter((pod) => healthOf(pod) === 'unhealthy').length,
    inSyncReplicas: pods.filter(isInSync).length,
    selector: selectorOf(cnf),
    ...stageOf(cnf, view),
    ...numbersOf(step.memory, view.revisions),
    ...keptOf(step.memory, view.asked),
    ...distancesKept(step.distances, pods),
    ...listed('waitsFor', waitsFor),
    ...listed('excused', step.excused),
    ...(message !== undefined && { message: truncated(message, MAX_TEXT) }),
    ...(view.renewal && { renewal: view.renewal }),
    ...(view.rollSetTime && { rollSetTime: view.rollSetTime }),
    ...(deployment && { deployment }),
    ...view.update.kept,
    conditions: conditionsFor(cnf, view, waitsFor),
  };
};

const stageOf = (
  { status = {} }: CnfDeployment,
  { step: { stage }, now }: RollOutView,
): Pick<CnfDeploymentStatus, 'stage' | 'stageTime'> => ({
  stage,
  stageTime: (status.stage === stage ? status.stageTime : undefined) ?? new Date(now).toISOString(),
});

/** Before anything can be looked at. */
export const brokenStatus = (
  cnf: CnfDeployment,
  { reason, message, now }: { reason: string; message: string; now: number },
): CnfDeploymentStatus => ({
  ...cnf.status,
  ...(cnf.metadata.generation !== undefined && { observedGeneration: cnf.metadata.generation }),
  message: truncated(message, MAX_TEXT),
  conditions: [
    ...(cnf.status?.conditions ?? []).filter(
      ({ type }) => KEPT.has(type) && !(type === PROVISIONED && reason === 'Forbidden'),
    ),
    ...[
      { type: 'Progressing', status: 'False' as const, reason, message },
      ...(reason === 'Forbidden'
        ? [{ type: PROVISIONED, status: 'False' as const, reason, message }]
        : []),
      ...stalled({ reason, message }),
    ].map((one) => conditionOf(cnf, now, one)),
  ],
});

/** No call was refused for want of a right since the last one that needs it. */
const PROVISIONED = 'RBACProvisioned';
/** What is wrong says nothing of it. */
const KEPT: ReadonlySet<string> = new Set(['Available', PROVISIONED, IMAGES_CURRENT]);

/**
 * Before the Deployment has the digests: the next look, or leader, goes on from what is written.
 */
export const updatedStatus = (
  cnf: CnfDeployment,
  { kept, told }: Pick<UpdateStep, 'kept' | 'told'>,
  now: number,
): CnfDeploymentStatus => {
  const { status = {} } = cnf;
  const { resolvedImages: _images, failedImages: _failed, ...others } = status;
  const { nextUpdateWindow: _next, conditions = [], ...rest } = others;
  return {
    ...rest,
    ...kept,
    conditions: [
      ...conditions.filter(({ type }) => type !== IMAGES_CURRENT),
      ...imagesCurrent(told).map((one) => conditionOf(cnf, now, one)),
    ],
  };
};

const imagesCurrent = (told: UpdateStep['told']): Told[] =>
  told ? [{ type: IMAGES_CURRENT, ...told }] : [];

const numbersOf = (
  { current, staged, failed }: Memory,
  numbers: Revisions,
): Pick<CnfDeploymentStatus, 'revisions'> => {
  const sets = { current, staged: staged?.set, failed: failed?.set };
  const revisions = Object.fromEntries(
    Object.entries(sets).flatMap(([name, set]) => {
      const revision = set === undefined ? undefined : numbers.get(set);
      return revision === undefined ? [] : [[name, revision]];
    }),
  );
  return Object.keys(revisions).length === 0 ? {} : { revisions };
};

export const failureOf = (
  { set, why }: { set: string; why: string },
  revisions: Revisions,
): string => `revision ${revisionText(set, revisions)} has failed: ${why}`;

const listed = (name: string, texts: readonly string[]): Record<string, string[]> =>
  texts.length === 0
    ? {}
    : {
        [name]: texts
          .slice(0, MAX_WAITS)
          .map((text) => truncated(text, name === 'excused' ? 512 : MAX_TEXT)),
      };

const conditionsFor = (
  cnf: CnfDeployment,
  { held, now, pods, revisions, step, update }: RollOutView,
  waitsFor: readonly string[],
): FleetCondition[] => {
  const { replicas } = cnf.spec;
  const { failed } = step.memory;
  const ready = pods.filter(({ ready: is }) => is).length;
  const isAvailable = ready >= replicas;
  const isRolling = step.stage !== 'Current';
  const share = `${ready} of ${replicas} pods are ready`;
  const failure = failed && { reason: 'RollOutFailed', message: failureOf(failed, revisions) };
  const doubt = held === undefined ? undefined : { reason: 'TooFewAgentsHeard', message: held };
  const progressing: Told = failure
    ? { type: 'Progressing', status: 'False', ...failure }
    : { type: 'Progressing', status: 'True', reason: step.stage, message: goingOn(step, waitsFor) };
  const trouble = failure ?? doubt;
  const told: Told[] = [
    isAvailable
      ? { type: 'Available', status: 'True', reason: 'PodsReady', message: share }
      : { type: 'Available', status: 'False', reason: 'PodsNotReady', message: share },
    progressing,
    ...(trouble
      ? stalled(trouble)
      : sound(isAvailable && !isRolling, isAvailable && isRolling ? progressing.message : share)),
    {
      type: PROVISIONED,
      status: 'True',
      reason: 'Provisioned',
      message: `the coordinator may roll CNFs in namespace ${cnf.metadata.namespace}`,
    },
    ...imagesCurrent(update.told),
  ];
  return told.map((one) => conditionOf(cnf, now, one));
};

type Told = Pick<FleetCondition, 'type' | 'status' | 'reason' | 'message'>;

const goingOn = ({ excused, stage }: RollOutStep, waitsFor: readonly string[]): string => {
  if (stage === 'Current') return 'one set of pods serves';
  const without = excused.length === 0 ? '' : `does not wait for ${few(excused)}; `;
  return `${without}waits for ${few(waitsFor, 3) || 'nothing'}`;
};

const sound = (isReady: boolean, message: string): Told[] => [
  { type: 'Degraded', status: 'False', reason: 'AsExpected', message: '' },
  isReady
    ? { type: 'Ready', status: 'True', reason: 'Current', message }
    : { type: 'Ready', status: 'False', reason: 'NotReady', message },
];

/** As kstatus reads them. */
const stalled = (why: Pick<Told, 'reason' | 'message'>): Told[] => [
  { type: 'Degraded', status: 'True', ...why },
  { type: 'Ready', status: 'False', ...why },
  { type: 'Stalled', status: 'True', ...why },
];
