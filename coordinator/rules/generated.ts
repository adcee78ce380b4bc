/** What every rule has that the coordinator makes: it is known by its labels, and has our finalizer from its first moment. */
import type { Desired } from '#shared/kube/owned.ts';
import { AGENTS_FINALIZER, BUCKET_TYPE_LABEL, MANAGED_BY, PURPOSE_LABEL } from '#shared/names.ts';

export type GeneratedRule = {
  namespace: string;
  name: string;
  purpose: string | undefined;
  bucketType: string | undefined;
};

export const generatedMetadata = (rule: GeneratedRule) =>
  ({
    namespace: rule.namespace,
    name: rule.name,
    finalizers: [AGENTS_FINALIZER],
    labels: {
      ...MANAGED_BY,
      [PURPOSE_LABEL]: rule.purpose,
      [BUCKET_TYPE_LABEL]: rule.bucketType,
    },
  }) satisfies Desired['metadata'];
