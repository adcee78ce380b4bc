/**
 * The one writer of generated rules. Every write can only hit the version that was seen, and a name
 * that others have is left alone.
 */
import type { KubeClient } from '#shared/kube/client.ts';
import { isForbidden, isInvalid, isNotFound } from '#shared/kube/errors.ts';
import type { ResourceType, RuleObject } from '#shared/kube/objects.ts';
import { find, keep, type Desired, type Kept } from '#shared/kube/owned.ts';
import { AGENTS_FINALIZER, BUCKET_TYPE_LABEL, MANAGED_BY, PURPOSE_LABEL } from '#shared/names.ts';
import { atOnce } from '#shared/util/at-once.ts';

/** `wanted` undefined: there is to be none. `present`: as it was seen. */
export type RuleChange = { resource: ResourceType } & (
  | { wanted: Desired; present: RuleObject | undefined }
  | { wanted: undefined; present: RuleObject }
);

/** `error`: of the API server, or `NameTakenError`. */
export type Refusal = { change: RuleChange; error: unknown };

/** Its name belongs to a rule that was not made of this source. */
export class NameTakenError extends Error {
  override name = 'NameTakenError';
}

export type Written = {
  kept: readonly (Kept<RuleObject> & { rule: string })[];
  refusals: readonly Refusal[];
};

/** Whose a rule with the name of a wanted one is that was not seen before. */
export type Whose = 'ours' | 'others' | 'to be adopted';

type Writing = {
  client: KubeClient;
  whose: (there: RuleObject) => Whose;
  signal: AbortSignal;
};

const WRITES_AT_ONCE = 8;

/** One that fails or is refused holds up no other. @throws KubeError, the first other failure */
export const writeRules = async (
  changes: readonly RuleChange[],
  { client, whose, signal }: Writing,
): Promise<Written> => {
  const kept: (Kept<RuleObject> & { rule: string })[] = [];
  const refusals: Refusal[] = [];
  const failures: unknown[] = [];
  const write = async (change: RuleChange): Promise<void> => {
    signal.throwIfAborted();
    const { present, resource, wanted } = change;
    const { namespace, name } = (wanted ?? present).metadata;
    const rule = `${resource.kind} ${namespace}/${name}`;
    const owned = { client, resource, signal };
    try {
      const result = await keep(owned, wanted, present);
      const there =
        wanted && result.outcome === 'exists'
          ? await find(client, resource, wanted.metadata, { signal })
          : undefined;
      const of = there && isStaying(there) ? whose(there) : 'ours';
      if (of === 'others') throw new NameTakenError(`${rule} exists already`);
      const adopt = async (): Promise<Kept<RuleObject>> => {
        // First as it is: what is not its own yet the coordinator may not change.
        const asItIs = wanted && { ...wanted, fields: { spec: there?.spec } };
        const { object } = await keep(owned, asItIs, there);
        return object ? keep(owned, wanted, object) : { outcome: 'changed' };
      };
      kept.push({ ...(of === 'ours' ? result : await adopt()), rule });
    } catch (error) {
      if (isRefusal(error)) refusals.push({ change, error });
      else failures.push(error);
    }
  };
  // Deletions first, then changes: two rules for one destination would conflict.
  for (const isTurn of TURNS) await atOnce(changes.filter(isTurn), WRITES_AT_ONCE, write);
  if (failures.length > 0) throw failures[0];
  return { kept, refusals };
};

/** Trying again at once would not help. */
const isRefusal = (error: unknown): boolean =>
  error instanceof NameTakenError || isInvalid(error) || isForbidden(error) || isNotFound(error);

const TURNS: readonly ((change: RuleChange) => boolean)[] = [
  ({ wanted }) => wanted === undefined,
  ({ wanted, present }) => wanted !== undefined && present !== undefined,
  ({ present }) => present === undefined,
];

/** What every rule has that is made here: its labels, and our finalizer from the first moment. */
export const generatedRule = ({
  purpose,
  bucketType,
  labels,
  spec,
  ...metadata
}: Omit<Desired['metadata'], 'finalizers'> & {
  purpose: string | undefined;
  bucketType: string | undefined;
  spec: unknown;
}): Desired => ({
  metadata: {
    ...metadata,
    finalizers: [AGENTS_FINALIZER],
    labels: {
      ...MANAGED_BY,
      [PURPOSE_LABEL]: purpose,
      [BUCKET_TYPE_LABEL]: bucketType,
      ...labels,
    },
  },
  fields: { spec },
});

export const isStaying = ({ metadata }: Pick<RuleObject, 'metadata'>): boolean =>
  metadata.deletionTimestamp === undefined;
