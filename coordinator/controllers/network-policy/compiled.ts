/**
 * Which CNFs enforce policies, and the policies as each of them has them: worked out once, and
 * again after a change. What they select is followed.
 */
import type { RecordedEvent } from '#shared/kube/events.ts';
import type { PolicyAnnotations } from '../../sources/policy-annotation.ts';
import { compiledAt, type Compiled } from './desired.ts';
import { gatewaysOf, type Gateway } from './enforcing-cnfs.ts';
import { invalidAnnotation } from './events.ts';
import { keyOf } from './objects.ts';
import type { PolicyReader, PolicySources } from './sources.ts';

export type CompiledDeps = {
  policySources: PolicySources;
  /** Those that say that their CNF enforces policies; undefined while that is not known. */
  asking: () => readonly PolicyAnnotations[] | undefined;
  record: (event: RecordedEvent) => void;
};

export const createCompiled = (
  { asking, record, policySources }: CompiledDeps,
  { onPolicies, onTouched }: Pick<PolicyReader, 'onPolicies' | 'onTouched'>,
) => {
  /** Undefined: that is not known, or what is known has changed. */
  let gateways: ReadonlyMap<string, Gateway> | undefined;
  let compiled: ReadonlyMap<string, ReadonlyMap<string, Compiled>> | undefined;

  const gatewaysNow = (): ReadonlyMap<string, Gateway> | undefined => {
    if (gateways) return gateways;
    const pods = asking();
    if (pods === undefined) return undefined;
    const found = gatewaysOf(pods);
    for (const { object, message } of found.invalid) record(invalidAnnotation(object, message));
    gateways = new Map(found.gateways.map((one) => [keyOf(one), one]));
    return gateways;
  };

  const compiledNow = (): ReadonlyMap<string, ReadonlyMap<string, Compiled>> => {
    if (compiled) return compiled;
    const policies = policySources.policies();
    compiled = new Map(
      [...(gatewaysNow() ?? [])].map(([key, one]) => [key, compiledAt(one, policies)] as const),
    );
    const all = [...compiled.values()].flatMap((of) => [...of.values()]);
    reader.follow(new Map(all.flatMap((one) => ('groups' in one ? [...one.groups] : []))));
    return compiled;
  };

  const reader = policySources.join({
    isWanted: () => (gatewaysNow()?.size ?? 0) > 0,
    onPolicies: () => {
      compiled = undefined;
      onPolicies();
    },
    onTouched,
  });

  return {
    gateways: gatewaysNow,
    /** Nothing for a CNF that enforces no policies. */
    at: (key: string): ReadonlyMap<string, Compiled> =>
      (gatewaysNow()?.has(key) ? compiledNow().get(key) : undefined) ?? NOTHING,
    /** From now on other CNFs may enforce policies. */
    forget: (): void => {
      gateways = undefined;
      compiled = undefined;
    },
  };
};

const NOTHING: ReadonlyMap<string, Compiled> = new Map();
