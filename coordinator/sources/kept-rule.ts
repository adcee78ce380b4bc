/**
 * What stays in memory of a rule. The authors of rules could fill it otherwise: a spec can have
 * half a megabyte, and which rule refers to what and what agents compare is known when it comes.
 */
import type { RuleObject } from '#shared/kube/objects.ts';
import { orderOf } from '#shared/compile/revision.ts';
import { firewallDnat } from '#shared/resources/rules/firewall-dnat.ts';
import { firewallForwarding } from '#shared/resources/rules/firewall-forwarding.ts';
import { firewallRule } from '#shared/resources/rules/firewall-rule.ts';
import { mwan3Rule } from '#shared/resources/rules/mwan3-rule.ts';
import { ORDER_ANNOTATION, POD_ADDRESSES_ANNOTATION, PURPOSE_LABEL } from '#shared/names.ts';

export type KeptRule = RuleObject & {
  /** `revisionOf` the object as it came. */
  revision: string;
  /** `indexKeysOf` it. */
  indexKeys: readonly string[];
  /** `shapeOf` it. */
  shape: string | undefined;
  /** `filterOf` it. */
  filter: unknown;
};

export const isKept = (object: RuleObject): object is KeptRule =>
  'revision' in object && 'indexKeys' in object;

const READ: ReadonlySet<string> = new Set([ORDER_ANNOTATION, POD_ADDRESSES_ANNOTATION]);

const MAX_SHAPE_LENGTH = 256;

/**
 * What of a rule its revision and its index keys are made of, in short: two versions of a rule with
 * the same shape have the same of both. Undefined when that cannot be told. A generation has one
 * spec; annotations and labels do not move it.
 */
export const shapeOf = ({ metadata }: RuleObject): string | undefined => {
  const { annotations, generation, labels } = metadata;
  const beside = [labels?.[PURPOSE_LABEL], ...[...READ].map((name) => annotations?.[name])];
  const shape = JSON.stringify([generation, ...beside.map((text) => text ?? null)]);
  return generation === undefined || shape.length > MAX_SHAPE_LENGTH ? undefined : shape;
};

/** Kinds of which the first that a packet matches decides. */
const FILTERING: ReadonlySet<string> = new Set([
  firewallRule.kind,
  firewallForwarding.kind,
  firewallDnat.kind,
  mwan3Rule.kind,
]);
export const isFiltering = (kind: string): boolean => FILTERING.has(kind);

/** A rule that names so much is no likely one to hide others. */
const MAX_FILTER_LENGTH = 512;

/**
 * The spec of a rule whose packets no later one gets, where it is short: by it admission tells that
 * one rule hides another.
 */
export const filterOf = ({ kind, spec }: RuleObject): unknown =>
  isFiltering(kind) && (JSON.stringify(spec)?.length ?? 0) <= MAX_FILTER_LENGTH ? spec : undefined;

/** Which rule it is, its place among others, and what has become of it. */
export const identified = (rule: RuleObject): RuleObject => {
  const { apiVersion, kind, metadata, status } = rule;
  const { annotations: _ours, labels, ownerReferences: _owners, ...rest } = metadata;
  const purpose = labels?.[PURPOSE_LABEL];
  const order = orderOf(rule);
  return {
    apiVersion,
    kind,
    metadata: {
      ...rest,
      ...(purpose !== undefined && { labels: { [PURPOSE_LABEL]: purpose } }),
      ...(order && { annotations: { [ORDER_ANNOTATION]: String(order) } }),
    },
    ...(status !== undefined && { status }),
  };
};

/** All but annotations that are not read. */
export const whole = ({ apiVersion, kind, metadata, spec, status }: RuleObject): RuleObject => {
  const { annotations, ...rest } = metadata;
  const read = Object.entries(annotations ?? {}).filter(([name]) => READ.has(name));
  return {
    apiVersion,
    kind,
    metadata: { ...rest, ...(annotations && { annotations: Object.fromEntries(read) }) },
    ...(spec !== undefined && { spec }),
    ...(status !== undefined && { status }),
  };
};
