/** The rules as a pass is to see them: some as they were before a change, some left out. Pure. */
import { revisionOf } from '#shared/compile/revision.ts';
import type { CompileInput, LastGood } from '#shared/compile/types.ts';
import type { RuleObject } from '#shared/kube/objects.ts';
import { oncePerNames } from '#shared/util/memo.ts';
import type { Change } from './changes.ts';
import type { Blamed } from './record.ts';

export type View = {
  rules: readonly RuleObject[];
  refused: CompileInput['refused'];
  /** What is in force, or is to be again. */
  lastGood: (current: LastGood) => LastGood;
  /** Increases when it has to be applied again. */
  version: number;
};

export type Seen = {
  rules: readonly RuleObject[];
  version: number;
  undone: readonly Change[];
  blamed: readonly Blamed[];
};

const SEARCHING =
  'the agent has lost its connection with the last changes, and is searching for the rule to blame';
/** The revision of a spec that stays although its rule is to go: not the rule's own. */
const KEPT = 'kept';

export const viewOf = ({ rules, version, undone, blamed }: Seen): View => {
  const removals = new Set([...undone, ...blamed].filter(isRemoval).map(({ uid }) => uid));
  const seen = removals.size === 0 ? rules : rules.map((rule) => staying(rule, removals));
  const revisions = oncePerNames(
    () => new Map(seen.map((rule) => [rule.metadata.uid, revisionOf(rule)])),
  );
  const reason = 'LostConnectivity' as const;
  const refused: CompileInput['refused'] = new Map([
    ...undone.map(
      ({ uid }) =>
        [
          uid,
          {
            revision: revisions().get(uid) ?? '',
            reason,
            verdict: 'pending' as const,
            message: SEARCHING,
          },
        ] as const,
    ),
    ...blamed.map(({ uid, revision, message }) => [uid, { revision, reason, message }] as const),
  ]);
  return {
    rules: seen,
    refused,
    version,
    lastGood: (current) => withBefore(current, undone, removals),
  };
};

const isRemoval = (one: { isRemoval: boolean }): boolean => one.isRemoval;

const staying = (rule: RuleObject, removals: ReadonlySet<string>): RuleObject => {
  if (!removals.has(rule.metadata.uid)) return rule;
  const { deletionTimestamp: _gone, ...metadata } = rule.metadata;
  return { ...rule, metadata };
};

const withBefore = (
  current: LastGood,
  undone: readonly Change[],
  removals: ReadonlySet<string>,
): LastGood => {
  if (undone.length === 0 && removals.size === 0) return current;
  const next = new Map(current);
  for (const { uid, before } of undone) {
    if (before === null) next.delete(uid);
    else next.set(uid, before);
  }
  for (const uid of removals) {
    const kept = next.get(uid);
    if (kept !== undefined) next.set(uid, { ...kept, revision: KEPT });
  }
  return next;
};
