/** What is known of every rule on this OpenWRT now, for reports, readiness and metrics. */
import { ledgerKey } from '#shared/compile/ownership.ts';
import { leftOversIn, type LeftOver } from '#shared/compile/left-over.ts';
import { partsBeside, type PartBesidePackages } from '#shared/resources/parts.ts';
import type { Verdict } from '#shared/compile/types.ts';
import type { RuleObject } from '#shared/kube/objects.ts';
import { comparisonOf, sectionsEqual } from '#shared/uci/delta.ts';
import type { UciPackage, UciSection } from '#shared/uci/model.ts';
import type { BySection } from '../openwrt/driver.ts';
import type { Authors } from './section-rules.ts';
import { isOursIn, type Ownership } from './ownership.ts';
import type { Plan } from './plan.ts';

export type RuleStates = {
  /**
   * Verdicts on all rules in the list, and on those that have left it while something of them is
   * there. Empty until the first pass.
   */
  verdicts: readonly Verdict[];
  /**
   * `package.section` of what is desired and not in force: it was not read back so, its service was
   * not reloaded since, or something of it is lacking in the kernel.
   */
  lagging: ReadonlySet<string>;
  /** Uid -> the generation that was read back in its place, of a rule that is to be replaced. */
  earlier: ReadonlyMap<string, number>;
  /** `package.section` -> what of it the kernel lacks. */
  lacking: ReadonlyMap<string, string>;
  /** `package.section` -> why it cannot be compared with the kernel. */
  incomparable: ReadonlyMap<string, string>;
  /** The same of sections of others, by package. */
  unreadOthers: BySection;
  /** Nothing is written to OpenWRT, whatever it lacks. */
  paused: boolean;
  /** Why the kernel has not been read; undefined when it has. */
  kernelUnread?: string | undefined;
  /** Tunnels of IPsec that may be up, although they were to end: `endingBy`. */
  ending: readonly string[];
  /** Uids of rules that are to be away, and of which nothing is left. */
  removed: ReadonlySet<string>;
  /** What is not known as ours may be ours. */
  isLedgerLost: boolean;
  /**
   * By uid: names of sections that may be of a rule that is to be away, as far as an agent without
   * its ledger can tell.
   */
  doubted: ReadonlyMap<string, string>;
  /** `package.section` -> what OpenWRT said of it. */
  warnings: ReadonlyMap<string, string>;
  /** Packages that OpenWRT has, and that cannot be read or written to; why. */
  unusable: ReadonlyMap<string, string>;
  /** Kind -> the package that its sections go to. */
  packages: ReadonlyMap<string, string>;
  /** What ICN's controller made, and no rule stands for. */
  leftOvers: readonly LeftOver[];
};

export const NOTHING_KNOWN: RuleStates = {
  verdicts: [],
  lagging: new Set(),
  earlier: new Map(),
  lacking: new Map(),
  incomparable: new Map(),
  unreadOthers: new Map(),
  paused: false,
  ending: [],
  removed: new Set(),
  isLedgerLost: false,
  doubted: new Map(),
  warnings: new Map(),
  unusable: new Map(),
  packages: new Map(),
  leftOvers: [],
};

export type StandingInput = {
  rules: readonly RuleObject[];
  paused: boolean;
  plan: Plan;
  observed: ReadonlyMap<string, UciPackage>;
  unusable: ReadonlyMap<string, string>;
  ownership: Ownership;
  unsettled: ReadonlySet<string>;
  ending: readonly string[];
  isLedgerLost: boolean;
  /** Packages that hold what is to be adopted and does not count as ours yet. */
  untaken: ReadonlySet<string>;
  lacking: ReadonlyMap<string, string>;
  incomparable: ReadonlyMap<string, string>;
  unreadOthers: BySection;
  kernelUnread?: string | undefined;
  authors: Pick<Authors, 'of' | 'leaving' | 'wasRemoved'>;
  /** What OpenWRT said at the last reload. */
  warned: BySection;
};

export const standingOf = (input: StandingInput): RuleStates => {
  const { rules, plan, observed, unusable, ownership, unsettled, lacking, incomparable } = input;
  const { warned } = input;
  const lagging = new Set([...lacking.keys(), ...incomparable.keys()]);
  const warnings = new Map<string, string>();
  for (const [name, desired] of plan.desired) {
    const differing = unsettled.has(name) ? desired : differingIn(observed.get(name), desired);
    const names = new Set(differing.map((section) => section.name));
    for (const each of names) lagging.add(ledgerKey(name, each));
    const said = warned.get(name) ?? NOTHING_SAID;
    const heard = said.size === 0 ? [] : desired.filter((section) => !names.has(section.name));
    for (const section of heard) {
      const warning = said.get(section.name);
      if (warning !== undefined) warnings.set(ledgerKey(name, section.name), warning);
    }
  }
  const packages = new Map(
    ownership.kinds.flatMap(({ kind, uci }): [string, string][] =>
      uci ? [[kind, uci.package]] : [],
    ),
  );
  const { kinds, unserved } = ownership;
  const isOurs = (name: string) => isOursIn(name, ownership);
  const leftOvers = leftOversIn({ observed, rules, kinds, unserved, isOurs });
  const leaving = input.authors.leaving();
  const doubted = doubtedIn(input);
  const removed = removedIn([...plan.verdicts, ...leaving], input, { packages, doubted });
  const isThere = ({ rule }: Verdict): boolean => !removed.has(rule.metadata.uid);
  const { kernelUnread, paused, ending, isLedgerLost, unreadOthers } = input;
  return {
    verdicts: [...plan.verdicts, ...leaving.filter(isThere)],
    lagging,
    earlier: earlierIn(input),
    lacking,
    incomparable,
    unreadOthers,
    paused,
    kernelUnread,
    ending,
    removed,
    isLedgerLost,
    doubted,
    warnings,
    unusable,
    packages,
    leftOvers,
  };
};

const NOTHING_SAID: ReadonlyMap<string, string> = new Map();
const NOTHING: readonly UciSection[] = [];

const differingIn = (found: UciPackage | undefined, desired: readonly UciSection[]) =>
  comparisonOf(found?.sections ?? NOTHING, desired).differing;

const besideIn = (found: UciPackage | undefined, desired: readonly UciSection[]) =>
  comparisonOf(found?.sections ?? NOTHING, desired).beside;

const earlierIn = (input: StandingInput): RuleStates['earlier'] => {
  const { plan, observed, unsettled, lacking, incomparable } = input;
  const replaced = plan.verdicts.filter(({ earlier }) => earlier !== undefined);
  if (replaced.length === 0) return new Map();
  const names = new Set(
    replaced.flatMap(({ earlier }) => earlier?.sections.map(({ name }) => name) ?? []),
  );
  const packages = new Set(replaced.map(({ earlier }) => earlier?.package ?? ''));
  const there = new Map(
    [...packages].flatMap((name) =>
      (observed.get(name)?.sections ?? [])
        .filter((section) => names.has(section.name))
        .map((section) => [ledgerKey(name, section.name), section] as const),
    ),
  );
  return new Map(
    replaced.flatMap(({ rule, earlier }): [string, number][] => {
      if (earlier === undefined || unsettled.has(earlier.package)) return [];
      const stands = (section: UciSection): boolean => {
        const key = ledgerKey(earlier.package, section.name);
        const found = there.get(key);
        const isInKernel = !lacking.has(key) && !incomparable.has(key);
        return found !== undefined && sectionsEqual(found, section) && isInKernel;
      };
      return earlier.sections.every(stands) ? [[rule.metadata.uid, earlier.generation]] : [];
    }),
  );
};

const doubtedIn = ({ isLedgerLost, plan }: StandingInput): RuleStates['doubted'] =>
  new Map(
    (isLedgerLost ? plan.verdicts : []).flatMap(({ rule, namesake }): [string, string][] =>
      namesake === undefined ? [] : [[rule.metadata.uid, namesake]],
    ),
  );

/** One that was gone stays so while none of its sections is there, whatever else is under way. */
const removedIn = (
  verdicts: readonly Verdict[],
  input: StandingInput,
  { packages, doubted }: Pick<RuleStates, 'packages' | 'doubted'>,
): ReadonlySet<string> => {
  const { authors } = input;
  const { strays, left } = straysIn(input);
  const isSettled = ({ kind }: RuleObject): boolean => !strays.has(packages.get(kind) ?? '');
  return new Set(
    verdicts
      .filter(({ verdict }) => verdict === 'unwanted')
      .map(({ rule }) => rule)
      .filter(({ metadata: { uid } }) => !left.has(uid) && !doubted.has(uid))
      .filter((rule) => authors.wasRemoved(rule.metadata.uid) || isSettled(rule))
      .map(({ metadata }) => metadata.uid),
  );
};

/**
 * `left`: uids of rules of which a section is there that no rule wants. `strays`: packages with
 * such a section of an unknown rule, or that may have one.
 */
const straysIn = (input: StandingInput): { strays: Set<string>; left: Set<string> } => {
  const { plan, observed, unusable, ownership, unsettled, untaken, authors } = input;
  const strays = new Set([...unsettled, ...unusable.keys(), ...untaken]);
  const left = new Set<string>();
  for (const [name, desired] of plan.desired) {
    const isOurs = isOursIn(name, ownership);
    for (const section of besideIn(observed.get(name), desired).filter(isOurs)) {
      const author = authors.of(ledgerKey(name, section.name));
      if (author === undefined) strays.add(name);
      else left.add(author);
    }
  }
  for (const name of usersOfStrays(input, strays)) strays.add(name);
  return { strays, left };
};

/** What is left in a part beside the packages stands with packages whose sections refer to it. */
const usersOfStrays = (input: StandingInput, strays: ReadonlySet<string>): readonly string[] =>
  partsBeside.flatMap((part) =>
    strays.has(part.name) || isHidden(part, input) ? usersOf(part, input.ownership) : [],
  );

const usersOf = (part: PartBesidePackages, { kinds }: Ownership): readonly string[] =>
  kinds.flatMap(({ uci }) => (uci && part.desired(uci) ? [uci.package] : []));

/** The login may not see it any more; what is there for a package that is gone is of no use. */
const isHidden = (part: PartBesidePackages, { observed, ownership }: StandingInput): boolean =>
  !observed.has(part.name) &&
  usersOf(part, ownership).some((name) => observed.has(name)) &&
  [...ownership.ledger.keys()].some((key) => key.startsWith(ledgerKey(part.name, '')));

/** Every section that the rule is to have is in force, and OpenWRT did not complain of any. */
export const isInForce = ({ lagging, warnings }: RuleStates, { sections }: Verdict): boolean =>
  lagging.size + warnings.size === 0 ||
  sections.every((section) => {
    const key = ledgerKey(section.package, section.name);
    return !lagging.has(key) && !warnings.has(key);
  });

/** `package.section` of all that is in force, whether OpenWRT complained or not. */
export const inForceIn = ({ verdicts, lagging }: RuleStates): ReadonlySet<string> => {
  const keys = verdicts.flatMap(({ sections }) =>
    sections.map((section) => ledgerKey(section.package, section.name)),
  );
  return new Set(keys).difference(lagging);
};

/** What OpenWRT said of the rule's sections, if anything. */
export const warningFor = ({ warnings }: RuleStates, verdict: Verdict): string | undefined =>
  firstOf(warnings, verdict);

/** What the kernel lacks of the rule's sections, or why that cannot be told, as a sentence. */
export const lackFor = (
  { lacking, incomparable }: RuleStates,
  verdict: Verdict,
): string | undefined => {
  const lack = firstOf(lacking, verdict);
  if (lack !== undefined) return `the kernel of OpenWRT lacks ${lack}`;
  const why = firstOf(incomparable, verdict);
  return why && `the agent cannot compare the rule with the kernel of OpenWRT: ${why}`;
};

const firstOf = (words: ReadonlyMap<string, string>, { sections }: Verdict): string | undefined =>
  words.size === 0
    ? undefined
    : sections
        .map((section) => words.get(ledgerKey(section.package, section.name)))
        .find((word) => word !== undefined);
