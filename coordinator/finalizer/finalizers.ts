/** Which finalizers a rule should bear, as lists; who writes them is `write.ts`. */
import { AGENTS_FINALIZER, ICN_FINALIZERS } from '#shared/names.ts';
import type { ObjectMeta } from '#shared/kube/objects.ts';

/** The list with ours added; undefined when there is nothing to do, or nothing that the API server would allow. */
export const withAgentsFinalizer = (metadata: ObjectMeta): string[] | undefined => {
  const present = metadata.finalizers ?? [];
  if (metadata.deletionTimestamp !== undefined || present.includes(AGENTS_FINALIZER))
    return undefined;
  return [...present, AGENTS_FINALIZER];
};

/** The list without ours and ICN's, whose controller is gone; undefined when it holds none of them. */
export const withoutAgentsFinalizers = (metadata: ObjectMeta): string[] | undefined => {
  const present = metadata.finalizers ?? [];
  const left = present.filter(
    (name) => name !== AGENTS_FINALIZER && !ICN_FINALIZERS.includes(name),
  );
  return left.length === present.length ? undefined : left;
};
