/** What the agent reports of each PolicyEnforcement. Pure. */
import { revisionOf } from '#shared/compile/revision.ts';
import { sentenceOf, type Reason } from '#shared/protocol/reasons.ts';
import { MAX_MESSAGE_LENGTH, type RuleReport, type RuleState } from '#shared/protocol/report.ts';
import type { PolicyEnforcement } from '#shared/resources/policy-enforcement.ts';
import type { Reading } from '../report/freshness.ts';
import type { TableState } from './kernel-table.ts';

/** `reading`: whether what was read of OpenWRT may be reported; else `problem` says why not. */
export type ReadNow = { reading: Reading; problem: string };

/** `problem`: what keeps the agent from bringing the table to the kernel. */
type Standing = TableState & { paused: boolean; problem: string };

export const policyReport = (
  object: PolicyEnforcement,
  standing: Standing,
  now: ReadNow,
): RuleReport => {
  const [state, reason, message] = unreadOf(now) ?? outcomeOf(object, standing);
  const { name, uid, generation = 0 } = object.metadata;
  const isDone = state === 'Applied' || state === 'Removed';
  const text = isDone ? message : message || sentenceOf(reason);
  return {
    kind: object.kind,
    name,
    uid,
    generation,
    revision: revisionOf(object),
    state,
    reason,
    message: text.slice(0, MAX_MESSAGE_LENGTH),
  };
};

type Outcome = [state: RuleState, reason: Reason, message: string];

const unreadOf = (now: ReadNow): Outcome | undefined => {
  if (now.reading === 'holds') return undefined;
  const reason = now.reading === 'silent' ? 'OpenwrtUnreachable' : 'OpenwrtUnread';
  return ['Pending', reason, now.problem];
};

const outcomeOf = (object: PolicyEnforcement, standing: Standing): Outcome => {
  const { wanted, held, inBoth, unsupported, refused } = standing;
  const { deletionTimestamp, uid } = object.metadata;
  const revision = revisionOf(object);
  if (deletionTimestamp !== undefined) return removalOf(uid, standing);
  if (unsupported !== undefined) return ['Failed', 'UnsupportedByDriver', unsupported];
  const notCarried = object.spec.refused ?? wanted.tooMany.get(uid);
  if (notCarried) return ['Failed', notCarried.reason, notCarried.message];
  const inForce = (held?.entries ?? inBoth).get(uid);
  if (inForce?.revision === revision) return ['Applied', 'Applied', ''];
  const words = wordsAbout(uid, revision, standing) ?? refused?.message;
  if (words !== undefined) return ['Failed', 'RefusedByOpenwrt', words];
  return pending('Applying', standing);
};

const wordsAbout = (uid: string, revision: string, { blamed }: Standing): string | undefined => {
  const known = blamed.get(uid);
  return known?.revision === revision ? known.message : undefined;
};

const removalOf = (uid: string, standing: Standing): Outcome => {
  const { held, unsupported } = standing;
  const isGone = held !== undefined && !held.entries.has(uid);
  // A table that this OpenWRT cannot have, it does not have.
  if (isGone || unsupported !== undefined) return ['Removed', 'Removed', ''];
  return pending('Removing', standing);
};

const pending = (reason: 'Applying' | 'Removing', { paused, problem }: Standing): Outcome =>
  paused ? ['Pending', 'Paused', ''] : ['Pending', reason, problem];
