/**
 * References between CRs: a reference needs its target, and a target that is used stays. And the
 * label by which all of them belong to a CNF.
 */
import { keyOf } from '#shared/compile/in-use.ts';
import { referencesOf } from '#shared/compile/check.ts';
import type { RuleObject } from '#shared/kube/objects.ts';
import { PURPOSE_LABEL } from '#shared/names.ts';
import type { Reference } from '#shared/resources/kind.ts';
import { few, thereIs } from '#shared/util/few.ts';
import { isKept } from '../../sources/kept-rule.ts';
import { keysToLookUp } from '../index-keys.ts';
import type { Check, Facts, RuleChange } from './check.ts';

export const missingReferences = (
  { after, specChanged }: RuleChange,
  { rules }: Pick<Facts, 'rules'>,
): readonly Reference[] => {
  if (after === undefined || !specChanged) return [];
  const there = new Set(rules.filter(isStaying).map(keyOfRule));
  return referencesOf(after).filter(({ kind, name }) => !there.has(keyOf(kind, name)));
};

export const referencesExist: Check = (change, facts) => {
  const { purpose } = change;
  const missing = missingReferences(change, facts);
  if (missing.length === 0) return undefined;
  const list = missing.map(({ path, kind, name }) => `${path}: ${kind} ${name}`).join(', ');
  const wrong = wrongPurpose(change, facts);
  const what = `${list} does not exist for purpose ${purpose} in this namespace`;
  return {
    reason: 'UnknownReference',
    message:
      wrong === undefined
        ? `${what}; create it first${othersOf(missing, facts)}`
        : `metadata.labels.${PURPOSE_LABEL}: ${wrong}; ${what}`,
  };
};

/** What may have been meant: the rules of those kinds that the CNF has. */
const othersOf = (missing: readonly Reference[], { rules }: Pick<Facts, 'rules'>): string => {
  const kinds = new Set(missing.map(({ kind }) => kind));
  const meant = rules.filter((rule) => kinds.has(rule.kind) && isStaying(rule));
  return thereIs(meant.map(({ metadata }) => metadata.name));
};

/** Users that are being deleted themselves do not keep it. */
export const isUnused: Check = (change, { rules }) => {
  const { operation, before } = change;
  if (operation !== 'DELETE' || before === undefined) return undefined;
  const users = rules.filter(
    (rule) => isStaying(rule) && rule.metadata.uid !== before.metadata.uid && mayUse(rule, change),
  );
  if (users.length === 0) return undefined;
  return {
    reason: 'InUse',
    message: `it is used by ${listOf(users)}; delete or change ${users.length === 1 ? 'it' : 'them'} first`,
  };
};

/**
 * A cache knows only the index keys of a rule, and of many references only that there are many; the
 * API server's own copy is asked before a denial.
 */
const mayUse = (rule: RuleObject, change: RuleChange): boolean => {
  if (isKept(rule))
    return keysToLookUp(change).some((indexKey) => rule.indexKeys.includes(indexKey));
  const key = keyOf(change.kind.kind, change.name);
  return referencesOf(rule).some((reference) => keyOf(reference.kind, reference.name) === key);
};

export const isStaying = ({ metadata }: RuleObject): boolean =>
  metadata.deletionTimestamp === undefined;

const keyOfRule = ({ kind, metadata }: RuleObject): string => keyOf(kind, metadata.name);

/** A zone can have thousands of users; kubectl shows one line. */
const listOf = (rules: readonly RuleObject[]): string =>
  few(rules.map(({ kind, metadata }) => `${kind} ${metadata.name}`).sort());

/** What a wrong label is called; undefined: a CNF has the purpose, or there is no CNF at all. */
const wrongPurpose = (
  { purpose }: Pick<RuleChange, 'purpose'>,
  { purposes }: Pick<Facts, 'purposes'>,
): string | undefined => {
  if (purposes.has(purpose) || purposes.size === 0) return undefined;
  return `no CNF has purpose ${purpose} here${thereIs(purposes)}`;
};

/**
 * The label that ties a rule to a CNF, against the CNFs that there are. Rules may come before their
 * CNF, so it only warns.
 */
export const purposeIsServed: Check = (change, facts) => {
  const { before, after, purpose } = change;
  if (after === undefined) return undefined;
  if (before !== undefined && before.metadata.labels?.[PURPOSE_LABEL] === purpose) return undefined;
  // A policy refuses one without the label.
  if (purpose === '') return undefined;
  const wrong = wrongPurpose(change, facts);
  // Else that is part of the refusal.
  if (wrong === undefined || missingReferences(change, facts).length > 0) return undefined;
  return { reason: 'Caution', message: `metadata.labels.${PURPOSE_LABEL}: ${wrong}` };
};
