/** A rule as roll-up and finalizers see it: what identifies it, its wishes, and its status. */
import { AGENTS_FINALIZER, PURPOSE_LABEL } from '#shared/names.ts';
import type { RuleObject } from '#shared/kube/objects.ts';
import { ruleStatusSchema, type RuleStatus } from '#shared/protocol/status.ts';

export type Rule = {
  kind: string;
  namespace: string;
  name: string;
  uid: string;
  generation: number;
  /** `revisionOf` the object: what agents compare. */
  revision: string;
  purpose: string | undefined;
  /** When deletion was asked for, wall-clock milliseconds. */
  deletedAt: number | undefined;
  hasFinalizer: boolean;
  status: RuleStatus | undefined;
};

/** A status that is not ours, or of an older form, counts as none: it will be replaced whole. */
export const ruleOf = (object: RuleObject, revision: string): Rule => {
  const { metadata } = object;
  const status = ruleStatusSchema.safeParse(object.status);
  return {
    kind: object.kind,
    namespace: metadata.namespace,
    name: metadata.name,
    uid: metadata.uid,
    generation: metadata.generation ?? 0,
    revision,
    purpose: metadata.labels?.[PURPOSE_LABEL] || undefined,
    deletedAt: metadata.deletionTimestamp ? Date.parse(metadata.deletionTimestamp) : undefined,
    hasFinalizer: metadata.finalizers?.includes(AGENTS_FINALIZER) ?? false,
    status: status.success ? status.data : undefined,
  };
};
