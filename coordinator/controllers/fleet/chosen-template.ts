/** What a CNFDeployment's Deployment should be, whether to write it, and what that awaits. Pure. */
import type {
  CnfDeployment,
  CnfDeploymentStatus,
} from '#shared/resources/other-kinds/cnf-deployment.ts';
import { setOf, type FleetDeployment, type FleetReplicaSet, type PodTemplateText } from './apps.ts';
import type { Memory } from './decide.ts';
import { hashOf, templateHash, templateOfSet, wantedSpec } from './deployment.ts';
import type { FleetPod } from './pod.ts';

export type WrittenDeployment = NonNullable<CnfDeploymentStatus['deployment']>;

export type Order = {
  spec: object;
  written: string;
  template: string;
  isDue: boolean;
  /** Another template is written: not only other replicas or times. */
  supersedes: boolean;
  /**
   * Pod by pod, Kubernetes first puts the pods of the proven set back in the place of those of a
   * set that was not proven.
   */
  waits: boolean;
};

export const isPodByPod = ({ spec }: CnfDeployment): boolean => spec.surge === 1;

/** What the Deployment should be, and whether it has to be written. */
export const orderOf = (
  cnf: CnfDeployment,
  {
    template,
    memory,
    sets,
    present,
    seen,
  }: {
    template: PodTemplateText;
    memory: Memory;
    sets: readonly FleetReplicaSet[];
    present: FleetDeployment | undefined;
    seen: readonly FleetPod[];
  },
): Order => {
  const proven = sets.find((set) => setOf(set) === memory.current);
  const back = proven && templateOfSet(proven);
  const goesBack = memory.failed !== undefined && cnf.spec.onFailure === 'Rollback';
  const asked = orderFor(cnf, (goesBack ? back : undefined) ?? template, present);
  const waits =
    asked.supersedes && isPodByPod(cnf) && back !== undefined && haveJoined(seen, memory);
  return waits ? { ...orderFor(cnf, back, present), waits } : { ...asked, waits };
};

const orderFor = (
  cnf: CnfDeployment,
  template: PodTemplateText,
  present: FleetDeployment | undefined,
): Omit<Order, 'waits'> => {
  const spec = wantedSpec(cnf, template);
  const written = hashOf(spec);
  const known = cnf.status?.deployment;
  const isDue =
    known?.uid !== present?.metadata.uid ||
    known?.generation !== present?.metadata.generation ||
    known?.written !== written;
  const hash = templateHash(template);
  return { spec, written, template: hash, isDue, supersedes: isDue && known?.template !== hash };
};

/** Pods of a set that is not proven serve. */
const haveJoined = (pods: readonly FleetPod[], { current }: Memory): boolean =>
  pods.some(({ gate, set }) => gate === 'open' && set !== current);

/** What the status says of the Deployment that was written. */
export const markOf = (
  { metadata: { uid, generation = 0 } }: FleetDeployment,
  { template, written }: Order,
): WrittenDeployment => ({ uid, generation, written, template });

/** A Deployment is not written before the set that serves is known: other pods get a gate. */
export const isToBeAdopted = (
  { status }: CnfDeployment,
  present: FleetDeployment | undefined,
  { memory, seen }: { memory: Memory; seen: readonly FleetPod[] },
): boolean =>
  present !== undefined &&
  status?.deployment?.uid !== present.metadata.uid &&
  memory.current === undefined &&
  seen.some(({ ready }) => ready);

/** A newer template waits until the staged set has the traffic no more, and Kubernetes knows it. */
export const mustWait = (
  cnf: CnfDeployment,
  {
    memory,
    present,
    seen,
  }: { memory: Memory; present: FleetDeployment | undefined; seen: readonly FleetPod[] },
): boolean => !isPodByPod(cnf) && (mustGiveBack(seen, memory) || isCounted(seen, memory, present));

/** Pods of the staged set have the traffic, and the set before it can take it back. */
const mustGiveBack = (pods: readonly FleetPod[], { current, staged }: Memory): boolean =>
  pods.some(({ set, gate }) => gate === 'open' && set === staged?.set) &&
  pods.some(({ set, ready }) => ready && set === current);

/** Kubernetes counts pods of the staged set: for a newer template it would take earlier pods. */
const isCounted = (
  pods: readonly FleetPod[],
  { staged }: Memory,
  present: FleetDeployment | undefined,
): boolean => {
  const others = pods.filter(({ ready, set }) => ready && set !== staged?.set);
  const { availableReplicas = 0 } = present?.status ?? {};
  return others.length > 0 && others.length < pods.length && availableReplicas > others.length;
};
