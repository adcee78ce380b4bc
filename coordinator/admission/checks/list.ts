/** The checks in the order in which refusals are reported; the first gives the answer its code. */
import type { Operation } from '../review.ts';
import { bucketIsPermitted, bucketTypeIsKnown } from './buckets.ts';
import type { Check, FactName } from './check.ts';
import {
  claimIsFree,
  isNotHidden,
  linkIsOwn,
  nameIsFree,
  networkHasOneZone,
  valueIsTheSame,
} from './conflicts.ts';
import { isUnused, purposeIsServed, referencesExist } from './references.ts';
import {
  cautionsOf,
  deviceIsNoNetwork,
  metadataIsValid,
  nameIsUsual,
  networksExist,
  specIsValid,
} from './spec.ts';

export type ListedCheck = {
  name: string;
  on: readonly Operation[];
  /** What it reads beside the request. */
  needs: readonly FactName[];
  /**
   * `reference`: what a refusal comes to is a matter of the mode, since files are applied in any
   * order. `caution`: a warning in all modes.
   */
  severity: 'deny' | 'reference' | 'caution';
  check: Check;
};

const onWrites = (
  name: string,
  severity: ListedCheck['severity'],
  check: Check,
  needs: readonly FactName[] = [],
): ListedCheck => ({ name, on: ['CREATE', 'UPDATE'], needs, severity, check });

export const ruleChecks: readonly ListedCheck[] = [
  onWrites('metadata', 'deny', metadataIsValid),
  onWrites('spec', 'deny', specIsValid),
  onWrites('bucket-type', 'deny', bucketTypeIsKnown),
  onWrites('cautions', 'caution', cautionsOf),
  { name: 'names', on: ['CREATE'], needs: ['rules'], severity: 'deny', check: nameIsFree },
  { name: 'unusual-names', on: ['CREATE'], needs: [], severity: 'caution', check: nameIsUsual },
  onWrites('claims', 'deny', claimIsFree, ['rules']),
  onWrites('values', 'caution', valueIsTheSame, ['rules']),
  onWrites('references', 'reference', referencesExist, ['rules', 'purposes']),
  onWrites('purpose', 'caution', purposeIsServed, ['rules', 'purposes']),
  onWrites('zones', 'caution', networkHasOneZone, ['rules']),
  onWrites('hidden', 'caution', isNotHidden, ['filters']),
  onWrites('links', 'caution', linkIsOwn, ['links']),
  onWrites('networks', 'reference', networksExist, ['networks']),
  onWrites('devices', 'caution', deviceIsNoNetwork, ['networks']),
  { name: 'used-by', on: ['DELETE'], needs: ['rules'], severity: 'reference', check: isUnused },
];

/** A webhook of their own, which fails closed: permissions hold without a coordinator. */
export const bucketChecks: readonly ListedCheck[] = [
  {
    name: 'bucket-permission',
    on: ['CREATE', 'UPDATE', 'DELETE'],
    needs: ['grants'],
    severity: 'deny',
    check: bucketIsPermitted,
  },
];
