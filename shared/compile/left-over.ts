/**
 * What ICN's controller made for CRs that are gone, as far as it can be distinguished from what
 * administrators make. The agent leaves it alone and lists it, so that an operator can decide.
 * Pure.
 */
import type { KindDefinition } from '../resources/kind.ts';
import type { RuleObject } from '../kube/objects.ts';
import type { UciPackage, UciSection } from '../uci/model.ts';
import { compare, keyOf } from './in-use.ts';
import { ifReadable, unmarkedIn } from './ownership.ts';

export type LeftOver = {
  package: string;
  type: string;
  /** By which ICN's REST finds it. */
  name: string;
};

export type LeftOverInput = {
  observed: ReadonlyMap<string, UciPackage>;
  rules: readonly RuleObject[];
  kinds: readonly KindDefinition[];
  /** Kinds whose rules are not known: what may be theirs is not listed. */
  unserved: readonly string[];
  isOurs: (packageName: string) => (section: UciSection) => boolean;
};

/** By package, type and name; several of one name are one. */
export const leftOversIn = (input: LeftOverInput): readonly LeftOver[] => {
  const { observed, rules } = input;
  const candidates = [...observed.values()].flatMap((content) => candidatesIn(content, input));
  if (candidates.length === 0) return [];
  const claimed = new Set(rules.map(({ kind, metadata }) => keyOf(kind, metadata.name)));
  const unclaimed = candidates.filter(
    ({ kinds, name }) => !kinds.some((kind) => claimed.has(keyOf(kind, name))),
  );
  const byKey = new Map(
    unclaimed.map(({ package: uciPackage, type, name }) => {
      const leftOver = { package: uciPackage, type, name };
      return [[uciPackage, type, name].join(' '), leftOver] as const;
    }),
  );
  return [...byKey].sort(([a], [b]) => compare(a, b)).map(([, leftOver]) => leftOver);
};

/** `kinds`: those that the section could have been made for. */
type Candidate = LeftOver & { kinds: readonly string[] };

const candidatesIn = (
  content: UciPackage,
  { kinds, unserved, isOurs }: LeftOverInput,
): Candidate[] => {
  const { name: packageName, sections } = content;
  const inPackage = kinds.filter(({ uci }) => uci?.package === packageName);
  if (!inPackage.some(({ uci }) => uci?.icn?.isOnlyIcns)) return [];
  const isOurSection = isOurs(packageName);
  return unmarkedIn(content).flatMap((section): Candidate[] => {
    if (isOurSection(section)) return [];
    const { type } = section;
    const nameAs = ({ uci }: KindDefinition) => ifReadable(() => uci?.icn?.nameOf(section));
    const possible = inPackage.filter((kind) => nameAs(kind) !== undefined);
    const isIcns = possible.some(
      ({ uci }) => ifReadable(() => uci?.icn?.isOnlyIcns?.(section, sections)) === true,
    );
    const name = possible[0] && nameAs(possible[0]);
    if (!isIcns || name === undefined) return [];
    const names = possible.map(({ kind }) => kind);
    if (names.some((kind) => unserved.includes(kind))) return [];
    return [{ package: packageName, type, name, kinds: names }];
  });
};
