/** What a check on a rule CR sees and says. Checks are pure; facts are gathered before, from caches or live. */
import type { KindDefinition } from '#shared/resources/kind.ts';
import type { RuleObject } from '#shared/kube/objects.ts';
import type { PolicyRule } from '../buckets/use.ts';
import type { AdmissionRefusal } from '../refusals.ts';
import type { Operation } from '../review.ts';

export type User = { username: string; groups: readonly string[] };

/** One request about one rule CR. On a delete only `before` is there, on a create only `after`. */
export type RuleChange = {
  operation: Operation;
  kind: KindDefinition;
  namespace: string;
  name: string;
  purpose: string;
  before: RuleObject | undefined;
  after: RuleObject | undefined;
  /** A create, or an update that touches `spec`: only then is the spec looked at, so old objects can always be cleaned up. */
  specChanged: boolean;
  user: User;
};

/** The annotation of a Role or ClusterRole that is bound to the user, with its rules, and its name for messages. */
export type BucketGrant = { role: string; annotation: string; rules: readonly PolicyRule[] };

export type Facts = {
  /**
   * Rule CRs of the change's namespace and purpose, those being deleted included: at least all that it refers to, that refer to it, and
   * that may share its section.
   */
  rules: readonly RuleObject[];
  /** Rules of the CNF that may decide before the change's for its packets; none where there are more than `MAX_FILTERS`. */
  filters: readonly RuleObject[];
  /** Rule CRs of all CNFs of the namespace that have what the change's rule has of a link, itself included. */
  links: readonly RuleObject[];
  /** Network names of the CNF of that purpose; undefined when there is no CNF yet or it has no such annotation. */
  networks: ReadonlySet<string> | undefined;
  /** Of the CNFs of the namespace, as their workloads and pods say. */
  purposes: ReadonlySet<string>;
  /** Of all Roles and ClusterRoles that are bound to the user in this namespace and carry the annotation. */
  grants: readonly BucketGrant[];
};

/** Whoever applies a rule waits until they are looked at. */
export const MAX_FILTERS = 1_000;

export type CheckContext = {
  kinds: readonly KindDefinition[];
  bucketTypes: readonly string[];
};

export type Check = (
  change: RuleChange,
  facts: Facts,
  context: CheckContext,
) => AdmissionRefusal | undefined;

/** Which facts a check reads, so that the others are not looked up. */
export type FactName = keyof Facts;
