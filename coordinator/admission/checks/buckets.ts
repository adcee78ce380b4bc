/**
 * Permissions by the label `sdewan-bucket-type`, as the seed describes them. Both sides of an update are looked at, so
 * that adding, changing and removing the label need the right to each type that is touched.
 */
import { BUCKET_PERMISSION_ANNOTATION, BUCKET_TYPE_LABEL } from '#shared/names.ts';
import { grantsBucket } from '../buckets/permission.ts';
import type { Check, RuleChange, User } from './check.ts';

export const isMaster = ({ groups }: User): boolean => groups.includes('system:masters');

/** Also for `system:masters`, on what the request brings in: a misspelt type would lock everybody else out. */
export const bucketTypeIsKnown: Check = ({ before, after }, _facts, { bucketTypes }) => {
  const type = after?.metadata.labels?.[BUCKET_TYPE_LABEL];
  if (type === undefined || type === before?.metadata.labels?.[BUCKET_TYPE_LABEL]) return undefined;
  if (bucketTypes.includes(type)) return undefined;
  return {
    reason: 'UnknownBucketType',
    message: `label ${BUCKET_TYPE_LABEL}: ${quote(type)} is not a bucket type; the bucket types are ${bucketTypes.map(quote).join(', ')}`,
  };
};

export const bucketIsPermitted: Check = (change, { grants }) => {
  if (isMaster(change.user)) return undefined;
  const missing = bucketTypesOf(change).find(
    (type) => !grants.some(({ annotation }) => grantsBucket(annotation, change.kind.plural, type)),
  );
  if (missing === undefined) return undefined;
  return {
    reason: 'BucketForbidden',
    message:
      `${quote(change.user.username)} may not ${change.operation.toLowerCase()} ${change.kind.plural} of bucket type ` +
      `${quote(missing)}: no Role or ClusterRole bound to it in namespace ${quote(change.namespace)} ` +
      `lists that type in annotation ${BUCKET_PERMISSION_ANNOTATION}`,
  };
};

/** The types on either side of the change; none when both are unlabelled. */
export const bucketTypesOf = ({
  before,
  after,
}: Pick<RuleChange, 'before' | 'after'>): string[] => [
  ...new Set(
    [before, after].flatMap((object) => object?.metadata.labels?.[BUCKET_TYPE_LABEL] ?? []),
  ),
];

const quote = (text: string): string => JSON.stringify(text);
