/**
 * Lists of what is of a CNFDeployment. A user with the right to write pods or ReplicaSets of a
 * namespace gives them its labels, any owner, and more than a megabyte each: of such a list only
 * what is ours stays in memory, and no more of it than any roll-out has.
 */
import { identityOf, type KubeObject, type ResourceType } from '#shared/kube/objects.ts';

/** Length of what is kept of one list, as JSON. Eleven sets and eight pods may have 1.2 MiB. */
export const MAX_KEPT_LENGTH = 4_194_304;

export type Sifted<T> = KubeObject & { ours?: T };

/** For one list: what is kept of it adds up. */
export const sifting = <T extends KubeObject>(
  resource: ResourceType<T>,
  isOurs: (object: T) => boolean,
): ResourceType<Sifted<T>> => {
  let kept = 0;
  const sifted = (object: T): Sifted<T> => {
    const identity = identityOf(object);
    if (!isOurs(object)) return identity;
    kept += JSON.stringify(object).length;
    return kept > MAX_KEPT_LENGTH ? identity : { ...identity, ours: object };
  };
  return { ...resource, schema: resource.schema.transform(sifted) };
};

export const oursOf = <T>(items: readonly Sifted<T>[]): T[] =>
  items.flatMap(({ ours }) => (ours === undefined ? [] : [ours]));
