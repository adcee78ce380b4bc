/** One CNF per purpose and namespace, by root owner: with two, "in sync" would be unclear. */
import { selects, type LabelSelector } from '#shared/kube/selector.ts';
import type { Workload } from '../../sources/workload.ts';
import type { Root } from './root-owner.ts';
import type { AdmissionRefusal } from '../refusals.ts';

/** Who serves a purpose. Without a uid it is about to be created. */
export type CnfIdentity = Pick<Root, 'kind' | 'name' | 'orphan'> & { uid?: string | undefined };

export const secondCnf = (
  purpose: string,
  own: CnfIdentity,
  others: readonly CnfIdentity[],
): AdmissionRefusal | undefined => {
  const other = others.find((one) => !isSame(one, own));
  if (other === undefined) return undefined;
  return {
    reason: 'SecondCnf',
    message:
      `${other.kind} ${other.name} already serves purpose ${purpose} in this namespace` +
      `${own.kind === 'Pod' ? ', and a pod without a controller is a second CNF' : ''}; ` +
      `give this CNF another value of label sdewanPurpose, or delete the other one first`,
  };
};

/** The workloads of that purpose that are not being deleted. */
export const servingWorkloads = (
  workloads: readonly Workload[],
  namespace: string,
  purpose: string,
): Workload[] =>
  workloads.filter(
    (workload) =>
      workload.namespace === namespace && !workload.deleting && servedBy(workload) === purpose,
  );

/**
 * What its pods serve; undefined: nothing, so that it is no CNF. The label of the workload itself
 * is put into a template that has none.
 */
export const servedBy = ({ purpose, templatePurpose }: Workload): string | undefined =>
  (templatePurpose ?? purpose) || undefined;

/** A Deployment adopts a ReplicaSet that it selects and that has no controller, with its pods. */
export const isAdoptedBy = (
  selector: LabelSelector | undefined,
  { orphan }: CnfIdentity,
): boolean => selector !== undefined && orphan !== undefined && selects(selector, orphan);

const isSame = (one: CnfIdentity, other: CnfIdentity): boolean =>
  one.uid !== undefined && other.uid !== undefined
    ? one.uid === other.uid
    : one.kind === other.kind && one.name === other.name;
