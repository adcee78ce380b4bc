/** All Events of roll-outs. */
import type { RecordedEvent } from '#shared/kube/events.ts';
import { WEIGHT_ANNOTATION } from '#shared/names.ts';
import type {
  CnfDeployment,
  CnfDeploymentStatus,
} from '#shared/resources/other-kinds/cnf-deployment.ts';
import { few } from '#shared/util/few.ts';
import { podResource } from '../../sources/workload.ts';
import { badWeightOf, type FleetPodObject } from './apps.ts';
import type { Memory, RollOutStep, Stage } from './decide.ts';
import type { Going } from './replacement.ts';
import { failureOf, revisionText, type Revisions, type RollOutView } from './status.ts';
import type { UpdateStep } from './updates/decide.ts';

export const eventsOf = (
  cnf: CnfDeployment,
  { step, renewal, revisions }: Pick<RollOutView, 'step' | 'renewal' | 'revisions'>,
  before: Memory,
): Omit<RecordedEvent, 'object'>[] => [
  ...ofStage(cnf, step, { before, revisions }),
  ...(renewal && isRenewed(cnf, renewal)
    ? [
        {
          type: 'Normal' as const,
          reason: 'SetRenewed',
          message: `new pods are made before others go: ${renewal.reason}`,
        },
      ]
    : []),
];

export const isRenewed = (
  { status }: CnfDeployment,
  renewal: CnfDeploymentStatus['renewal'],
): boolean => renewal?.pod !== status?.renewal?.pod;

/** One for each change of stage. */
const ofStage = (
  { status }: CnfDeployment,
  { stage, memory, excused }: RollOutStep,
  { before, revisions }: { before: Memory; revisions: Revisions },
): Omit<RecordedEvent, 'object'>[] => {
  if (stage === status?.stage) return [];
  const { current = '', staged, failed } = memory;
  if (stage === 'Failed')
    return failed === undefined || before.failed !== undefined
      ? []
      : [
          {
            type: 'Warning',
            reason: 'RollOutFailed',
            message: failureOf(failed, revisions),
          },
        ];
  const without = excused.length === 0 ? '' : `, without ${few(excused)}`;
  const message = `${SAID[stage]}: revision ${revisionText(staged?.set ?? current, revisions)}${without}`;
  return [{ type: 'Normal', reason: stage, message }];
};

const SAID: Readonly<Record<Exclude<Stage, 'Failed'>, string>> = {
  Creating: 'the first pods are made',
  Current: 'it serves, and no other set does',
  Staged: 'new pods are made, which have no traffic',
  Connected: 'each new pod runs, and waits for its rules',
  Swapping: 'each new pod has every rule, and is told that it is to have the traffic',
  HandedOver: 'each new pod has every rule and is given the traffic',
  Soaking: 'the new pods have the traffic, and the old ones stay for a while',
};

export const podReplaced = (object: CnfDeployment, { pod, why }: Going): RecordedEvent => ({
  object,
  type: 'Warning',
  reason: 'PodReplaced',
  message: `pod ${pod} is replaced: ${why}`,
});

export const updateBegun = (
  object: CnfDeployment,
  { begun }: Pick<UpdateStep, 'begun'>,
): RecordedEvent[] =>
  begun === undefined
    ? []
    : [{ object, type: 'Normal', reason: 'UpdateBegun', message: `by its registry, ${begun}` }];

export const deploymentReverted = (object: CnfDeployment): RecordedEvent => ({
  object,
  type: 'Warning',
  reason: 'DeploymentReverted',
  message: `another user or program changed the Deployment, and it is as the CNFDeployment asks again: change spec of the CNFDeployment instead`,
});

/** `by`: the user that has asked for it. `done`: false where OpenWRT has no such service. */
export const serviceRestarted = (
  { by, object, value }: { by: string; object: RecordedEvent['object']; value: string },
  done: boolean,
): RecordedEvent =>
  done
    ? {
        object,
        type: 'Normal',
        reason: 'ServiceRestarted',
        message: `the agent has restarted ${value}: ${by} has asked for it`,
      }
    : {
        object,
        type: 'Warning',
        reason: 'ServiceNotRestarted',
        message: `OpenWRT has no ${value} that the agent can restart: ${by} has asked for it`,
      };

/** Annotations that are no weight: told again only when they change. */
export const createWeightEvents = (record: (event: RecordedEvent) => void) => {
  /** By CNFDeployment: of which pods an Event has told. */
  const badWeights = new Map<string, string>();
  const tell = (key: string, live: readonly FleetPodObject[]): void => {
    const bad = live.filter((pod) => badWeightOf(pod) !== undefined);
    const seen = bad.map((pod) => `${pod.metadata.uid} ${badWeightOf(pod)}`).join('\n');
    if (seen === (badWeights.get(key) ?? '')) return;
    badWeights.set(key, seen);
    for (const pod of bad)
      record({
        object: { ...pod, apiVersion: 'v1', kind: podResource.kind },
        type: 'Warning',
        reason: 'WeightInvalid',
        message: `annotation ${WEIGHT_ANNOTATION} must be a whole number of at most eight digits, such as 10 or -10; it is taken as 0`,
        once: true,
      });
  };

  return { tell, forget: (key: string) => badWeights.delete(key) };
};
