/** Writes children. Every write can only hit the version that was planned on; a name that somebody else has is left alone. */
import { kindOf } from '#shared/resources/registry.ts';
import type { KubeClient } from '#shared/kube/client.ts';
import type { OwnerReference, RuleObject } from '#shared/kube/objects.ts';
import {
  find,
  isOvertaken,
  keep,
  type Desired,
  type Owned,
  type WriteOutcome,
} from '#shared/kube/owned.ts';
import {
  BUCKET_TYPE_LABEL,
  ICN_FINALIZERS,
  ORDER_ANNOTATION,
  PURPOSE_LABEL,
} from '#shared/names.ts';
import { generatedMetadata } from '../rules/generated.ts';
import type { RuleVersion } from '../rules/rules.ts';
import type { Plan, Wanted } from './plan.ts';

export type Written = {
  /** Names that are somebody else's. */
  taken: readonly string[];
  /** What was planned on has changed, or a name is free only after a while: look again. */
  again: boolean;
};

/** @throws KubeError other than conflicts */
export const writeChildren = async (
  client: KubeClient,
  { object: parent }: RuleVersion,
  plan: Plan,
  signal: AbortSignal,
): Promise<Written> => {
  const taken: string[] = [];
  let again = false;
  const ownedOf = (kind: string): Owned<RuleObject> => ({
    client,
    resource: resourceOf(kind),
    signal,
  });
  const note = (outcome: WriteOutcome): void => {
    again ||= isOvertaken(outcome);
  };
  // Deletions first: two rules for one destination would conflict.
  for (const child of plan.remove)
    note((await keep(ownedOf(child.kind), undefined, child)).outcome);
  for (const { present, wanted } of plan.update)
    note((await keep(ownedOf(wanted.kind), objectOf(parent, wanted), present)).outcome);
  for (const wanted of plan.create) {
    const owned = ownedOf(wanted.kind);
    const desired = objectOf(parent, wanted);
    const created = await keep(owned, desired, undefined);
    const there =
      created.outcome === 'exists' &&
      (await find(client, owned.resource, desired.metadata, { signal }));
    if (!there || !isOfOthers(there, parent)) note(created.outcome);
    else if (isIcnChild(there, parent)) note((await keep(owned, desired, there)).outcome);
    else taken.push(`${wanted.kind} ${wanted.name}`);
  }
  return { taken, again };
};

const objectOf = (parent: RuleObject, { name, spec }: Wanted): Desired => {
  const { namespace, labels = {}, annotations } = parent.metadata;
  return {
    metadata: {
      ...generatedMetadata({
        namespace,
        name,
        purpose: labels[PURPOSE_LABEL],
        bucketType: labels[BUCKET_TYPE_LABEL],
      }),
      annotations: { [ORDER_ANNOTATION]: annotations?.[ORDER_ANNOTATION] },
      ownerReferences: [ownerOf(parent)],
    },
    fields: { spec },
  };
};

const ownerOf = ({ apiVersion, kind, metadata }: RuleObject): OwnerReference => ({
  apiVersion,
  kind,
  name: metadata.name,
  uid: metadata.uid,
  controller: true,
  blockOwnerDeletion: true,
});

/** Neither a child of this CR nor about to go. */
const isOfOthers = ({ metadata }: RuleObject, parent: RuleObject): boolean =>
  metadata.deletionTimestamp === undefined &&
  !metadata.ownerReferences?.some(
    ({ uid, controller }) => uid === parent.metadata.uid && controller,
  );

/** Made by ICN's controller for this very CR: it knew no owners, but left its finalizers on both. */
const isIcnChild = (child: RuleObject, parent: RuleObject): boolean =>
  [child, parent].every(({ metadata }) =>
    metadata.finalizers?.some((name) => ICN_FINALIZERS.includes(name)),
  ) && child.metadata.ownerReferences === undefined;

const resourceOf = (kind: string) => {
  const definition = kindOf(kind);
  if (!definition) throw new Error(`no kind ${kind}`);
  return definition;
};
