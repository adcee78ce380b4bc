/**
 * What a custom resource of ours is. One file per resource states all of it; its CRD, the rights on
 * it, the fences of admission, the reference page and what uninstalling removes are made from that.
 */
import type * as z from 'zod';
import type { ResourceType } from '../kube/objects.ts';

/**
 * A condition on the spec that the API server checks as CEL and we check in code; `conditions.ts`
 * makes both from one.
 */
export type SpecRule<Spec> = {
  /** CEL over `self`, which is the spec. */
  cel: string;
  /** What is wrong and what would be right, as operators will read it. */
  message: string;
  /** Where, e.g. `spec.src_dip`. */
  path: string;
  holds: (spec: Spec) => boolean;
};

/** A condition on the object's name. */
export type NameRule = {
  /** CEL over `self`, which is the object. */
  cel: string;
  message: string;
  holds: (name: string) => boolean;
  /** Whether it is the length: operators and programs tell that apart. */
  isLimit: boolean;
};

/** What `kubectl get` shows. */
export type Column = {
  name: string;
  type: 'string' | 'boolean' | 'integer' | 'date';
  jsonPath: string;
  /** 1: with `-o wide` only. */
  priority?: 1;
};

/** As CRDs have it: paths of fields, e.g. `.spec.replicas`. */
export type ScalePaths = {
  specReplicasPath: string;
  statusReplicasPath: string;
  labelSelectorPath: string;
};

export type Resource<Spec = unknown> = ResourceType & {
  scope: 'Namespaced' | 'Cluster';
  shortNames: readonly string[];
  /** `kubectl get <category>` lists it. */
  category?: string;
  /** For `kubectl explain` and the reference page. */
  description: string;
  /** Its output is what code works with: for rules digits as text, blank fields absent. */
  spec: z.ZodType<Spec>;
  specRules?: readonly SpecRule<Spec>[];
  nameRules?: readonly NameRule[];
  /** On changes: CEL over `self` and `oldSelf`, the object. Only the API server can check them. */
  changeRules?: readonly { cel: string; message: string; path: string }[];
  /**
   * What the coordinator writes; may have fields of this resource alone. Absent: an input, which is
   * not reported on or confirmed.
   */
  status?: z.ZodType;
  /** Its status is no subresource: the coordinator makes the object, and writes it in one call. */
  isWrittenWhole?: true;
  columns?: readonly Column[];
  /** Makes `kubectl scale` and autoscalers work. */
  scale?: ScalePaths;
  /** How long changes are collected before its status is written. */
  coalesceMs?: number;
  /** The coordinator itself creates and deletes objects of it. */
  isMadeByCoordinator?: true;
  /** The coordinator alone writes it, whatever RBAC says: the API server refuses others. */
  isCoordinatorsAlone?: true;
  /** Agents watch it, although it is no rule. */
  isReadByAgents?: true;
};
