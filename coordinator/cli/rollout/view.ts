/** What `sdewan rollout status` and `history` print. Pure. */
import type {
  CnfDeployment,
  CnfDeploymentStatus,
} from '#shared/resources/other-kinds/cnf-deployment.ts';
import { revisionNumberOf, setOf, type FleetReplicaSet } from '../../controllers/fleet/apps.ts';
import { ageOf } from '../../views/output/age.ts';
import { printable, table } from '../../views/output/table.ts';
import { degradedIn } from '../../views/status.ts';

/** One set of pods serves, of the template that is asked for. */
export const isAtRest = ({ metadata, spec, status = {} }: CnfDeployment): boolean =>
  status.observedGeneration === metadata.generation &&
  status.stage === 'Current' &&
  (status.readyReplicas ?? 0) >= spec.replicas;

export const isGivenUp = ({ metadata, status = {} }: CnfDeployment): boolean =>
  status.observedGeneration === metadata.generation && status.failedRevision !== undefined;

/** A line each; the first says where it is. `now`: absent, for how long is left out. */
export const statusLines = (cnf: CnfDeployment, now?: number): string[] => {
  const { metadata, spec, status = {} } = cnf;
  if (status.stage === undefined || status.observedGeneration !== metadata.generation)
    return [`${metadata.name}: the coordinator has not come to it yet${because(status.message)}`];
  const share = `${status.readyReplicas ?? 0} of ${spec.replicas} pods are ready`;
  const since =
    status.stageTime === undefined || now === undefined
      ? ''
      : `, for ${ageOf(status.stageTime, now)}`;
  return [
    `${metadata.name}: ${status.stage}${since}: ${share}`,
    ...setLines(status),
    ...(status.failed ? [] : (status.waitsFor ?? [])).map((one) => `waits for: ${one}`),
    ...(status.excused ?? []).map((one) => `does not wait for: ${one}`),
    ...problems(cnf).map((one) => `trouble: ${one}`),
  ].map(printable);
};

const setLines = (status: CnfDeploymentStatus): string[] => {
  const { currentRevision, stagedRevision, failedRevision, failed, revisions = {} } = status;
  // An older coordinator tells no numbers.
  const named = (number: number | undefined, set: string): string =>
    number === undefined ? set : `revision ${number} (${set})`;
  return [
    ...(currentRevision === undefined
      ? []
      : [`serves: ${named(revisions.current, currentRevision)}`]),
    ...(stagedRevision === undefined ? [] : [`staged: ${named(revisions.staged, stagedRevision)}`]),
    ...(failed === undefined
      ? []
      : [`failed: ${named(revisions.failed, failedRevision ?? '')}: ${failed.message}`]),
  ];
};

export const historyText = (
  sets: readonly FleetReplicaSet[],
  cnf: CnfDeployment,
  now: number,
): string =>
  table(
    ['REVISION', 'SET', 'STATE', 'PODS', 'AGE', 'IMAGES'],
    sets
      .toSorted((one, other) => revisionNumberOf(other) - revisionNumberOf(one))
      .map((set) => [
        String(revisionNumberOf(set)),
        setOf(set),
        stateOf(setOf(set), cnf),
        String(set.status?.replicas ?? 0),
        ageOf(set.metadata.creationTimestamp, now),
        imagesOf(set).join(', '),
      ]),
  );

const because = (message: string | undefined): string =>
  message === undefined ? '' : `: ${message}`;

/** What keeps the coordinator from looking at all. */
const problems = ({ status = {} }: CnfDeployment): string[] => {
  const degraded = degradedIn(status);
  return degraded && degraded.reason !== 'RollOutFailed' ? [degraded.message] : [];
};

const stateOf = (set: string, { status = {} }: CnfDeployment): string => {
  if (set === status.currentRevision) return 'serves';
  if (set === status.failedRevision) return 'failed';
  return set === status.stagedRevision ? 'staged' : '';
};

const imagesOf = ({ spec }: FleetReplicaSet): string[] =>
  (spec.template.spec?.containers ?? []).flatMap(({ image }) => image ?? []);
