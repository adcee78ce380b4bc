/**
 * Permissions by the label `sdewan-bucket-type`, as the seed describes them. Both sides of an
 * update are looked at, so that adding, changing and removing the label need the right to each type
 * that is touched.
 */
import { BUCKET_PERMISSION_ANNOTATION, BUCKET_TYPE_LABEL } from '#shared/names.ts';
import { grantsBucket } from '../buckets/permission.ts';
import { BUCKET_TYPES_GROUP, BUCKET_TYPES_RESOURCE, USE, grantsUse } from '../buckets/use.ts';
import type { BucketGrant, Check, RuleChange, User } from './check.ts';

export const isMaster = ({ groups }: User): boolean => groups.includes('system:masters');

/** Also for `system:masters`, on types that the request adds: a misspelt one locks users out. */
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
  const missing = bucketTypesOf(change).find((type) => !isGranted(change, type, grants));
  if (missing === undefined) return undefined;
  const lacking = listing(change, missing, grants);
  const why =
    lacking === undefined
      ? `no Role or ClusterRole bound to it in namespace ${quote(change.namespace)} ` +
        `lists that type in annotation ${BUCKET_PERMISSION_ANNOTATION}`
      : needsRule(lacking, change, missing);
  return {
    reason: 'BucketForbidden',
    message:
      `${quote(change.user.username)} may not ${change.operation.toLowerCase()} ${change.kind.plural} of bucket type ` +
      `${quote(missing)}: ${why}`,
  };
};

const isGranted = (
  { kind: { plural } }: RuleChange,
  type: string,
  grants: readonly BucketGrant[],
): boolean =>
  grants.some(
    ({ annotation, rules }) =>
      grantsBucket(annotation, plural, type) && grantsUse(rules, plural, type),
  );

/** The first role whose annotation lists the type. */
const listing = (
  { kind: { plural } }: RuleChange,
  type: string,
  grants: readonly BucketGrant[],
): string | undefined =>
  grants.find(({ annotation }) => grantsBucket(annotation, plural, type))?.role;

const needsRule = (role: string, { kind: { plural } }: RuleChange, type: string): string =>
  `${role} lists the type in annotation ${BUCKET_PERMISSION_ANNOTATION}, and its rules have to grant verb ${USE} on ` +
  `${BUCKET_TYPES_RESOURCE} or ${BUCKET_TYPES_RESOURCE}/${plural} of ${BUCKET_TYPES_GROUP}, name ${type}, too`;

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
