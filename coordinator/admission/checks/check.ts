/** What a check on a rule sees and says. Checks are pure; facts come before, cached or live. */
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
  /** A create, or an update that touches `spec`: only then is the spec looked at, for clean-ups. */
  specChanged: boolean;
  user: User;
};

/** The annotation of a role that is bound to the user, with its rules, and a name for messages. */
export type BucketGrant = { role: string; annotation: string; rules: readonly PolicyRule[] };

export type Facts = {
  /**
   * Rule CRs of the change's namespace and purpose, those being deleted included: at least all that
   * it refers to, that refer to it, and that may share its section.
   */
  rules: readonly RuleObject[];
  /** Rules of the CNF that may decide before the change's; none when more than `MAX_FILTERS`. */
  filters: readonly RuleObject[];
  /** Rules of all CNFs of the namespace with what the change's rule has of a link; with itself. */
  links: readonly RuleObject[];
  /** Network names of the purpose's CNF; undefined: no CNF yet, or one without the annotation. */
  networks: ReadonlySet<string> | undefined;
  /** The purposes of the namespace's CNFs, as their workloads and pods say. */
  purposes: ReadonlySet<string>;
  /** Those of all roles that are bound to the user in this namespace and carry the annotation. */
  grants: readonly BucketGrant[];
};

/** The author of a rule waits until they are looked at. */
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
