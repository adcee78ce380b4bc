/** The checks in the order in which their refusals are reported; the first one gives the answer its code. */
import type { Operation } from '../review.ts';
import { bucketIsPermitted, bucketTypeIsKnown } from './buckets.ts';
import type { Check, FactName } from './check.ts';
import { claimIsFree } from './claims.ts';
import { isNotHidden } from './hidden.ts';
import { linkIsOwn } from './links.ts';
import { nameIsFree } from './names.ts';
import { networksExist } from './networks.ts';
import { purposeIsServed } from './purpose.ts';
import { isUnused, referencesExist } from './references.ts';
import { cautionsOf, metadataIsValid, specIsValid } from './spec.ts';
import { networkHasOneZone } from './zones.ts';

export type ListedCheck = {
  name: string;
  on: readonly Operation[];
  /** What it reads beside the request. */
  needs: readonly FactName[];
  /** `reference`: what a refusal comes to is a matter of the mode, since files are applied in any order. `caution`: a warning in all modes. */
  severity: 'deny' | 'reference' | 'caution';
  check: Check;
};

export const ruleChecks: readonly ListedCheck[] = [
  {
    name: 'metadata',
    on: ['CREATE', 'UPDATE'],
    needs: [],
    severity: 'deny',
    check: metadataIsValid,
  },
  { name: 'spec', on: ['CREATE', 'UPDATE'], needs: [], severity: 'deny', check: specIsValid },
  {
    name: 'bucket-type',
    on: ['CREATE', 'UPDATE'],
    needs: [],
    severity: 'deny',
    check: bucketTypeIsKnown,
  },
  { name: 'cautions', on: ['CREATE', 'UPDATE'], needs: [], severity: 'caution', check: cautionsOf },
  { name: 'names', on: ['CREATE'], needs: ['rules'], severity: 'deny', check: nameIsFree },
  {
    name: 'claims',
    on: ['CREATE', 'UPDATE'],
    needs: ['rules'],
    severity: 'deny',
    check: claimIsFree,
  },
  {
    name: 'references',
    on: ['CREATE', 'UPDATE'],
    needs: ['rules', 'purposes'],
    severity: 'reference',
    check: referencesExist,
  },
  {
    name: 'purpose',
    on: ['CREATE', 'UPDATE'],
    needs: ['rules', 'purposes'],
    severity: 'caution',
    check: purposeIsServed,
  },
  {
    name: 'zones',
    on: ['CREATE', 'UPDATE'],
    needs: ['rules'],
    severity: 'caution',
    check: networkHasOneZone,
  },
  {
    name: 'hidden',
    on: ['CREATE', 'UPDATE'],
    needs: ['filters'],
    severity: 'caution',
    check: isNotHidden,
  },
  {
    name: 'links',
    on: ['CREATE', 'UPDATE'],
    needs: ['links'],
    severity: 'caution',
    check: linkIsOwn,
  },
  {
    name: 'networks',
    on: ['CREATE', 'UPDATE'],
    needs: ['networks'],
    severity: 'reference',
    check: networksExist,
  },
  { name: 'used-by', on: ['DELETE'], needs: ['rules'], severity: 'reference', check: isUnused },
];

/** A webhook of their own, which fails closed: permissions must hold while the coordinator is away. */
export const bucketChecks: readonly ListedCheck[] = [
  {
    name: 'bucket-permission',
    on: ['CREATE', 'UPDATE', 'DELETE'],
    needs: ['grants'],
    severity: 'deny',
    check: bucketIsPermitted,
  },
];
