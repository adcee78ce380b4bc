/** What the agent reports of each PolicyEnforcement. Pure. */
import { revisionOf } from '#shared/compile/revision.ts';
import type { RuleReport } from '#shared/protocol/report.ts';
import type { PolicyEnforcement } from '#shared/resources/other-kinds/policy-enforcement.ts';
import { reportOf, unreadOutcome, type BuildInput, type Outcome } from '../report/build.ts';
import type { TableState } from './kernel-table.ts';

export type ReadNow = Pick<BuildInput, 'reading' | 'problem'>;

/** `problem`: what keeps the agent from bringing the table to the kernel. */
type Standing = TableState & { paused: boolean; problem: string };

export const policyReport = (
  object: PolicyEnforcement,
  standing: Standing,
  now: ReadNow,
): RuleReport => {
  const revision = revisionOf(object);
  return reportOf(object, revision, unreadOutcome(now) ?? outcomeOf(object, revision, standing));
};

const outcomeOf = (object: PolicyEnforcement, revision: string, standing: Standing): Outcome => {
  const { wanted, held, inBoth, unsupported, refused, blamed } = standing;
  const { deletionTimestamp, uid } = object.metadata;
  if (deletionTimestamp !== undefined) return removalOf(uid, standing);
  if (unsupported !== undefined)
    return { state: 'Failed', reason: 'UnsupportedByDriver', message: unsupported };
  const notCarried = object.spec.refused ?? wanted.tooMany.get(uid);
  if (notCarried)
    return { state: 'Failed', reason: notCarried.reason, message: notCarried.message };
  const inForce = (held?.entries ?? inBoth).get(uid);
  if (inForce?.revision === revision) return { state: 'Applied', reason: 'Applied', message: '' };
  const known = blamed.get(uid);
  const refusal = known?.revision === revision ? known : refused;
  if (refusal !== undefined)
    return { state: 'Failed', reason: 'RefusedByOpenwrt', message: refusal.message };
  return pending('Applying', standing);
};

const removalOf = (uid: string, standing: Standing): Outcome => {
  const { held, unsupported } = standing;
  const isGone = held !== undefined && !held.entries.has(uid);
  // A table that this OpenWRT cannot have, it does not have.
  if (isGone || unsupported !== undefined)
    return { state: 'Removed', reason: 'Removed', message: '' };
  return pending('Removing', standing);
};

const pending = (reason: 'Applying' | 'Removing', { paused, problem }: Standing): Outcome => ({
  state: 'Pending',
  ...(paused ? { reason: 'Paused', message: '' } : { reason, message: problem }),
});
