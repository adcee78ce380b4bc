import { MAX_TAKEN, MAX_TAKEN_OF_NAMESPACE } from './bounds.ts';

/**
 * How much of policies an agent is given, and takes: lines, and members of the groups that they are
 * about. Who asks first has room first; namespaces are to be asked in turns.
 */
export const createAllowance = (sizeOf: (group: string) => number) => {
  const counted = new Set<string>();
  const taken = new Map<string, number>();
  let all = 0;
  /** Whether there is room for all of a policy, which is then taken. A group counts once. */
  return (namespace: string, lines: number, groups: readonly string[]): boolean => {
    const more = new Set(groups).difference(counted);
    let weight = lines;
    for (const id of more) weight += sizeOf(id);
    const ofNamespace = (taken.get(namespace) ?? 0) + weight;
    if (ofNamespace > MAX_TAKEN_OF_NAMESPACE || all + weight > MAX_TAKEN) return false;
    for (const id of more) counted.add(id);
    taken.set(namespace, ofNamespace);
    all += weight;
    return true;
  };
};

export const TOO_MUCH = `with the policies before it this one comes to more lines and addresses than an agent takes, ${MAX_TAKEN_OF_NAMESPACE} of a namespace and ${MAX_TAKEN} in all: it isolates its pods, and lets nothing pass`;
