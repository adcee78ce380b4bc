/**
 * What a kind of rule CR is. One file per kind states all of it; everything else is generic over the registry,
 * so that a new kind is one new file.
 */
import type { z } from 'zod';
import type { ResourceType } from '../kube/objects.ts';
import type { UciSection } from '../uci/model.ts';

/** A use of another CR of the same namespace and purpose. `path` is where in the spec, e.g. `spec.policy`. */
export type Reference = { path: string; kind: string; name: string };

/** A use of a network of the CNF pod's `nfn-network` annotation. */
export type NetworkUse = { path: string; network: string };

/** A condition on the spec that the API server checks as CEL and we check in code; a test holds the two together. */
export type SpecRule<Spec> = {
  /** CEL over `self`, which is the spec. */
  cel: string;
  /** What is wrong and what would be right, as operators will read it. */
  message: string;
  /** Where, e.g. `spec.src_dip`. */
  path: string;
  holds: (spec: Spec) => boolean;
};

export type RenderContext = {
  /** The CR's name as UCI can hold it: `-` and `.` are `_`. */
  name: string;
  /** The UCI section's name that belongs to this CR: `section.prefix` + name. */
  sectionName: string;
  /** Total: the compiler has checked every `NetworkUse` before it renders. */
  interfaceOf: (network: string) => string;
  /** The UCI form of a CR name in a reference; accepts the mapped form too. */
  uciNameOf: (reference: string) => string;
};

export type KindDefinition<Spec = unknown> = ResourceType & {
  scope: 'Namespaced';
  singular: string;
  shortNames: readonly string[];
  /** For `kubectl explain` and the reference docs. */
  description: string;
  spec: z.ZodType<Spec>;
  specRules?: readonly SpecRule<Spec>[];
  /** Length limit of the CR's name, where OpenWRT has one. */
  nameLimit?: { max: number; why: string };
  references?: (spec: Spec) => readonly Reference[];
  networks?: (spec: Spec) => readonly NetworkUse[];
  /** Where its sections go. Absent for kinds that only make other CRs. */
  uci?: {
    package: string;
    /**
     * `prefix`: names are free, ours begin with `sectionPrefix`. `ledger`: the name is the identity, so a ledger
     * tells ours from an administrator's.
     */
    ownership: 'prefix' | 'ledger';
    sectionPrefix: string;
    /** Pure and total for a spec that the schema accepted. The same input gives the same sections, in order. */
    render: (spec: Spec, context: RenderContext) => readonly UciSection[];
  };
};
