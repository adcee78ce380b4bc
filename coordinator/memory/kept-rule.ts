/**
 * What stays in memory of a rule. Whoever may write rules could fill it otherwise: a spec can have half a megabyte, and who refers to what and what
 * agents compare is known when it comes.
 */
import type { RuleObject } from '#shared/kube/objects.ts';
import { ORDER_ANNOTATION, POD_ADDRESSES_ANNOTATION, PURPOSE_LABEL } from '#shared/names.ts';

export type KeptRule = RuleObject & {
  /** `revisionOf` the object as it came. */
  revision: string;
  /** `tiesOf` it. */
  ties: readonly string[];
};

export const isKept = (object: RuleObject): object is KeptRule =>
  'revision' in object && 'ties' in object;

/** Which rule it is, and what has become of it. */
export const identified = ({ apiVersion, kind, metadata, status }: RuleObject): RuleObject => {
  const { annotations: _ours, labels, ownerReferences: _owners, ...rest } = metadata;
  const purpose = labels?.[PURPOSE_LABEL];
  return {
    apiVersion,
    kind,
    metadata: { ...rest, ...(purpose !== undefined && { labels: { [PURPOSE_LABEL]: purpose } }) },
    ...(status !== undefined && { status }),
  };
};

const READ: ReadonlySet<string> = new Set([ORDER_ANNOTATION, POD_ADDRESSES_ANNOTATION]);

/** All but annotations that nobody reads. */
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
