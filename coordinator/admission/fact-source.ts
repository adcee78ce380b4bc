/**
 * Where checks get their facts from: caches for the answer, the API server itself before a denial,
 * since caches lag behind what the same person wrote a moment ago (measured: 40 % of the time).
 */
import type { KindDefinition } from '#shared/resources/kind.ts';
import type { RuleObject } from '#shared/kube/objects.ts';
import type {
  BucketGrant,
  CheckContext,
  Facts,
  FactName,
  RuleChange,
  User,
} from './checks/check.ts';

/** @throws KubeError from the live one */
export type FactSource = {
  /**
   * At least those that can matter for the change; of the given kinds. `cached`: what caches have,
   * of which only that is asked on which a denial rests.
   */
  rules: (
    scope: {
      change: RuleChange;
      kinds: readonly KindDefinition[];
      cached?: readonly RuleObject[] | undefined;
    },
    signal: AbortSignal,
  ) => Promise<readonly RuleObject[]>;
  /** As in `Facts`. */
  filters: (change: RuleChange, signal: AbortSignal) => Promise<readonly RuleObject[]>;
  /** As in `Facts`. */
  links: (change: RuleChange, signal: AbortSignal) => Promise<readonly RuleObject[]>;
  /** Undefined when no CNF of that purpose has the annotation with its networks. */
  networks: (
    scope: { namespace: string; purpose: string },
    signal: AbortSignal,
  ) => Promise<ReadonlySet<string> | undefined>;
  purposes: (scope: { namespace: string }, signal: AbortSignal) => Promise<ReadonlySet<string>>;
  grants: (user: User, namespace: string, signal: AbortSignal) => Promise<readonly BucketGrant[]>;
};

/** What no denial rests on comes from caches alone. */
export type LiveFacts = Omit<FactSource, 'filters' | 'links' | 'purposes'>;

/** Only what the checks ask for is looked up. */
export const gatherFacts = async (
  source: LiveFacts & Partial<FactSource>,
  change: RuleChange,
  needs: ReadonlySet<FactName>,
  options: {
    kinds: CheckContext['kinds'];
    /** What caches have. */
    known?: Facts | undefined;
    signal: AbortSignal;
  },
): Promise<Facts> => {
  const { namespace, purpose, user } = change;
  const { kinds, known, signal } = options;
  const [rules, filters, links, networks, purposes, grants] = await Promise.all([
    needs.has('rules') ? source.rules({ change, kinds, cached: known?.rules }, signal) : [],
    needs.has('filters') ? (source.filters?.(change, signal) ?? []) : [],
    needs.has('links') ? (source.links?.(change, signal) ?? []) : [],
    needs.has('networks') ? source.networks({ namespace, purpose }, signal) : undefined,
    needs.has('purposes') ? purposesIn(source, known, { namespace }, signal) : new Set<string>(),
    needs.has('grants') ? source.grants(user, namespace, signal) : [],
  ]);
  return { rules, filters, links, networks, purposes, grants };
};

const purposesIn = (
  source: Partial<FactSource>,
  known: Facts | undefined,
  scope: { namespace: string },
  signal: AbortSignal,
): Promise<ReadonlySet<string>> | ReadonlySet<string> =>
  source.purposes?.(scope, signal) ?? known?.purposes ?? new Set();
