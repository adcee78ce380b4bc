/** What of ours another writer has changed since this process made it, and for which rule. Pure. */
import { ledgerKey } from '#shared/compile/ownership.ts';
import { comparisonOf, sectionsEqual } from '#shared/uci/delta.ts';
import type { UciSection } from '#shared/uci/model.ts';
import type { PassState } from './pass-state.ts';
import type { Plan } from './plan.ts';
import { packageOf, sectionOf } from './takeover.ts';

/** `uid`: of its rule. `whole`: another OpenWRT has none of the package's; `section` is `*`. */
export type DriftedSection = { package: string; section: string; uid?: string; whole?: true };

/** By package, and the incarnation of the OpenWRT that was brought to it. */
export type Reached = {
  sections: ReadonlyMap<string, readonly UciSection[]>;
  incarnation: string;
};

export type Drift = { packages: readonly string[]; sections: readonly DriftedSection[] };

export type Look = {
  plan: Plan;
  state: PassState;
  reached: Reached;
  /** `package.section` of what the kernel has lost. */
  inKernel: readonly string[];
};

/** Differences that no change of the rules explains. */
export const driftOf = ({ plan, state, reached, inKernel }: Look): Drift => {
  const { desired, differing } = plan;
  const isAnother = state.read.incarnation !== reached.incarnation;
  const inFiles = [...differing]
    .filter((name) => areSame(reached.sections.get(name), desired.get(name)))
    .map((name) => {
      const keys = changedIn(name, plan, state);
      const isWhole = isAnother && keys.length > 0 && keys.length === desired.get(name)?.length;
      return { name, keys, isWhole };
    });
  const whole = inFiles.filter(({ isWhole }) => isWhole);
  const keys = inFiles.flatMap((one) => (one.isWhole ? [] : one.keys));
  return {
    packages: [...new Set([...inFiles.map(({ name }) => name), ...inKernel.map(packageOf)])],
    sections: [
      ...whole.map(({ name }) => ({ package: name, section: '*', whole: true }) as const),
      ...sectionsOf([...keys, ...inKernel], plan),
    ],
  };
};

/** `package.section` of what is wanted in the package, and is another or missing. */
const changedIn = (name: string, { desired }: Plan, state: PassState): readonly string[] => {
  const found = state.packages.get(name)?.sections ?? [];
  const { differing } = comparisonOf(found, desired.get(name) ?? []);
  return differing.map((section) => ledgerKey(name, section.name));
};

const sectionsOf = (keys: readonly string[], { verdicts }: Plan): DriftedSection[] => {
  if (keys.length === 0) return [];
  const wanted = new Set(keys);
  const owners = new Map(
    verdicts.flatMap(({ rule, sections }) =>
      sections
        .map((section) => ledgerKey(section.package, section.name))
        .filter((key) => wanted.has(key))
        .map((key) => [key, rule.metadata.uid] as const),
    ),
  );
  return [...wanted].map((key) => {
    const uid = owners.get(key);
    return {
      package: packageOf(key),
      section: sectionOf(key),
      ...(uid !== undefined && { uid }),
    };
  });
};

const areSame = (
  before: readonly UciSection[] | undefined,
  after: readonly UciSection[] | undefined,
): boolean =>
  before !== undefined &&
  before.length === after?.length &&
  before.every((section, at) => {
    const other = after[at];
    return other !== undefined && sectionsEqual(section, other);
  });
