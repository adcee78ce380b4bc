/**
 * Adds our finalizer to a rule and removes it. Nothing is decided here; every write can only hit
 * the version that was judged.
 */
import type { KubeClient } from '#shared/kube/client.ts';
import { addFinalizer, removeFinalizers } from '#shared/kube/fenced.ts';
import { AGENTS_FINALIZER, ICN_FINALIZERS } from '#shared/names.ts';
import type { RuleVersion } from '../../sources/rules.ts';

/** ICN's go with ours: their controller is gone, and they would stay. */
const OURS: readonly string[] = [AGENTS_FINALIZER, ...ICN_FINALIZERS];

/** Whether anything of ours keeps the rule from going. */
export const hasOurFinalizers = ({ object }: RuleVersion): boolean =>
  object.metadata.finalizers?.some((name) => OURS.includes(name)) ?? false;

/** @throws KubeError; `isConflict` when the rule has changed since */
export const addOurFinalizer = (
  client: KubeClient,
  { resource, object }: RuleVersion,
  signal: AbortSignal,
): Promise<void> => addFinalizer({ client, resource, object }, AGENTS_FINALIZER, { signal });

/** @throws KubeError; `isConflict` when the rule has changed since */
export const removeOurFinalizers = (
  client: KubeClient,
  { resource, object }: RuleVersion,
  signal: AbortSignal,
): Promise<void> => removeFinalizers({ client, resource, object }, OURS, { signal });
