/**
 * Rules that are cached, confirmed before a denial that rests on them. By their names: a list of
 * all rules of a namespace can be large, and each author could have it made.
 */
import type { KubeClient } from '#shared/kube/client.ts';
import { isNotFound } from '#shared/kube/errors.ts';
import { objectSchema, type RuleObject } from '#shared/kube/objects.ts';
import type { Reference } from '#shared/resources/kind.ts';
import { kindOf } from '#shared/resources/registry.ts';
import { identified, isKept, type KeptRule } from '../sources/kept-rule.ts';
import type { RuleChange } from './checks/check.ts';
import { isStaying, missingReferences } from './checks/references.ts';
import { indexKeysFor, keysToConfirm } from './index-keys.ts';

type Named = Pick<Reference, 'kind' | 'name'>;
type Ask = (one: Named) => Promise<KeptRule | undefined>;

const AT_ONCE = 8;
/** The schema permits such names of references, and no object has one. */
const NO_NAME = /^\.{0,2}$/;

/**
 * The cached rules, except that those are as they are now on which a denial rests: eight are asked
 * at a time, until one of them is a reason for it.
 *
 * @throws KubeError
 */
export const confirmedRules = async (
  client: Pick<KubeClient, 'get'>,
  change: RuleChange,
  cached: readonly RuleObject[],
  signal: AbortSignal,
): Promise<readonly RuleObject[]> => {
  const ask = asking(client, change, signal);
  const wanted = new Set(keysToConfirm(change));
  const suspects = cached.filter(
    (rule) => isKept(rule) && rule.indexKeys.some((indexKey) => wanted.has(indexKey)),
  );
  const there = await untilOne(
    suspects.map(({ kind, metadata: { name } }) => ({ kind, name })),
    ask,
    (rule) => rule !== undefined,
  );
  const missing = missingReferences(change, { rules: cached });
  const come = await untilOne(missing, ask, (rule) => rule === undefined);
  const asked = new Set(suspects.slice(0, there.length));
  return [
    ...cached.filter((rule) => !asked.has(rule)),
    ...[...there, ...come].filter((rule) => rule !== undefined),
  ];
};

/** Undefined: it is not there for the change, or is being deleted. */
const asking =
  (client: Pick<KubeClient, 'get'>, change: RuleChange, signal: AbortSignal): Ask =>
  async ({ kind: of, name }) => {
    const kind = kindOf(of);
    if (!kind || NO_NAME.test(name)) return undefined;
    const resource = { ...kind, schema: schemaFor(change) };
    // No object has the `_` by which OpenWRT's name of it can be written.
    const key = { namespace: change.namespace, name: name.replaceAll('_', '-') };
    try {
      const rule = await client.get(resource, key, { signal });
      return rule.indexKeys.length > 0 && isStaying(rule) ? rule : undefined;
    } catch (error) {
      if (isNotFound(error)) return undefined;
      throw error;
    }
  };

const untilOne = async (
  all: readonly Named[],
  ask: Ask,
  isIt: (rule: KeptRule | undefined) => boolean,
): Promise<(KeptRule | undefined)[]> => {
  const answers: (KeptRule | undefined)[] = [];
  while (answers.length < all.length && !answers.some(isIt)) {
    const some = all.slice(answers.length, answers.length + AT_ONCE);
    answers.push(...(await Promise.all(some.map(ask))));
  }
  return answers;
};

/** Only what the change is about stays of each: a spec can have half a megabyte. */
export const schemaFor = (change: RuleChange) =>
  objectSchema.transform((object): KeptRule => {
    const indexKeys = indexKeysFor(object, change, undefined);
    const kept = { revision: '', indexKeys, shape: undefined, filter: undefined };
    return { ...identified(object), ...kept };
  });
