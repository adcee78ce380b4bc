/** How specs become sections: what several kinds share. */
import { createHash } from 'node:crypto';
import { RULE_GROUP, RULE_VERSION } from '../names.ts';
import type { UciSection, UciValue } from '../uci/model.ts';
import { parts } from './fields.ts';
import type { Reference } from './kind.ts';

/** What all rule kinds have in common. */
export const ruleResource = {
  group: RULE_GROUP,
  version: RULE_VERSION,
  scope: 'Namespaced',
  /** `kubectl get sdewan` lists the rules of all kinds. */
  category: 'sdewan',
} as const;

/** A named section; options that are absent or empty are left out. */
export const section = (
  type: string,
  name: string,
  options: Readonly<Record<string, UciValue | undefined>>,
): UciSection => ({
  name,
  anonymous: false,
  type,
  options: Object.fromEntries(
    Object.entries(options).filter(
      (entry): entry is [string, UciValue] => entry[1] !== undefined && entry[1].length > 0,
    ),
  ),
});

/** How OpenWRT's scripts write no. */
export const NO: ReadonlySet<unknown> = new Set(['0', 'no', 'off', 'false', 'disabled']);

/** The items of an option that may be a list. */
export const listOf = (value: UciValue | undefined): readonly string[] =>
  typeof value === 'string' ? [value] : (value ?? []);

/** A value that may have several parts: a list option where it has. */
export const several = (value: string | undefined): UciValue | undefined => {
  if (value === undefined) return undefined;
  const [first = '', ...others] = parts(value);
  return others.length === 0 ? first : [first, ...others];
};

/**
 * Longest comment that nft takes is 128 bytes; fw4 puts `!fw4: ` before a rule's name and `
 * (reflection)` behind (fw4.uc).
 */
const MAX_LABEL = 128 - '!fw4: '.length - ' (reflection)'.length;

/**
 * The name that OpenWRT's firewall shows in its messages and comments: the CR's, cut where fw4
 * would break the whole ruleset. What is cut ends in a hash, so that two of them differ.
 */
export const label = (crName: string): string => {
  if (crName.length <= MAX_LABEL) return crName;
  const hash = createHash('sha256').update(crName).digest('hex').slice(0, 8);
  return `${crName.slice(0, MAX_LABEL - hash.length - 1)}~${hash}`;
};

/** A reference, where the field is given and names a CR. */
export const referenceTo = (kind: string, path: string, name: string | undefined): Reference[] =>
  name === undefined || name === '*' ? [] : [{ path, kind, name }];
