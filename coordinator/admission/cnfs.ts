/** What a namespace's workloads, pod templates and pods say of its CNFs. */
import { networksIn, withoutInterface, type NetworkTexts } from '#shared/compile/networks.ts';

/**
 * Every network, without the interface, that any of these annotations names: during a roll-out old
 * and new pods can differ. Undefined when there is none, or none that can be read: then there is
 * nothing to compare a spec with.
 */
export const networkNames = (
  annotations: readonly (NetworkTexts | undefined)[],
): ReadonlySet<string> | undefined => {
  const read = annotations.flatMap((annotation) => {
    if (annotation === undefined) return [];
    try {
      return [networksIn(annotation)];
    } catch {
      return [];
    }
  });
  return read.length === 0
    ? undefined
    : new Set(
        read.flatMap(({ networks, unresolved = [] }) =>
          [...networks, ...unresolved].map(([name]) => withoutInterface(name)),
        ),
      );
};

/** Which CNFs there are, by the labels of all of them. */
export const purposesAmong = (labels: readonly (string | undefined)[]): ReadonlySet<string> =>
  new Set(labels.flatMap((label) => (label ? [label] : [])));
