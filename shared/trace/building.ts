/**
 * A firewall while its sections are read: what later sections change of zones that stand before
 * them, and chains as they grow.
 */
import type { UciSection } from '../uci/model.ts';
import { leakageOf } from './inner.ts';
import { SkippedSection } from './sections.ts';
import type { ChainRule, Condition, Family, NetworkState, Verdict, Zone } from './types.ts';

export type FamilyOrBoth = Family | 0 | undefined;

/** `any`: `*`. */
export type ZoneReference = { any: true } | { any: false; zone: Zone };

export class Building {
  readonly networks: ReadonlyMap<string, NetworkState>;
  readonly zones: Zone[] = [];
  /** Names of zones into whose chains "packets that were translated are accepted" is written. */
  readonly translated = new Set<string>();
  /** Zones that firewall4 lets accept what goes to them, since a translation is reflected there. */
  readonly reflecting = new Set<string>();
  readonly chains = new Map<string, ChainRule[]>();
  readonly skipped: { section: UciSection; why: string }[] = [];
  readonly refused: { section: UciSection; why: string }[] = [];
  /** Name of a set -> the version of IP that its members have. */
  readonly sets = new Map<string, FamilyOrBoth>();

  constructor(networks: ReadonlyMap<string, NetworkState>) {
    this.networks = networks;
  }

  add(chain: string, ...rules: readonly ChainRule[]): void {
    this.chains.getOrInsert(chain, []).push(...rules);
  }

  skip(section: UciSection, why: string): void {
    this.skipped.push({ section, why });
  }

  /** Reads a section; one that firewall4 leaves out is noted. */
  attempt(section: UciSection, read: () => void): void {
    try {
      read();
    } catch (error) {
      if (!(error instanceof SkippedSection)) throw error;
      this.skip(section, error.message);
    }
  }

  /** The first of its name, as firewall4 takes it. */
  readonly zoneReference = (name: string): ZoneReference | undefined => {
    if (name === '*') return { any: true };
    const zone = this.zones.find((one) => one.name === name);
    return zone && { any: false, zone };
  };
}

export const zoneOf = (reference: ZoneReference | undefined): Zone | undefined =>
  reference?.any === false ? reference.zone : undefined;

/** @throws SkippedSection where two of them contradict each other */
export const inferFamily = (
  given: FamilyOrBoth,
  parts: readonly (readonly [FamilyOrBoth, string])[],
): FamilyOrBoth => {
  let family = given;
  for (const [other, what] of parts) {
    if (other === undefined || other === 0 || other === family) continue;
    if (family !== undefined && family !== 0)
      throw new SkippedSection(`it is of IPv${family}, and its ${what} of IPv${other}`);
    family = other;
  }
  return family;
};

/** What a chain for a zone is called. */
export const verdictChain = (verdict: Verdict, side: 'from' | 'to', zone: string): string =>
  `${verdict}_${side}_${zone}`;

export const REJECT_CHAIN = 'handle_reject';

/** A zone's rules with one verdict; each before which firewall4 drops what it cannot translate. */
export const zoneVerdicts = (
  zone: Zone,
  {
    side,
    verdict,
    preventsLeaks,
  }: { side: 'from' | 'to'; verdict: Verdict; preventsLeaks: boolean },
): ChainRule[] =>
  zone.matches.flatMap((match): ChainRule[] => {
    const conditions = match(side === 'from' ? 'in' : 'out');
    const passage: ChainRule = { origin: { of: 'passage' }, conditions, action: { do: verdict } };
    return preventsLeaks ? [leakPrevention(zone, conditions), passage] : [passage];
  });

/** nft takes no condition on addresses of one version of IP behind one that asks for the other. */
export const isRefused = ({ conditions }: ChainRule): boolean => {
  const families = conditions.flatMap((one) =>
    one.on === 'family' ? [one.is] : 'family' in one ? [one.family] : [],
  );
  return new Set(families).size > 1;
};

const leakPrevention = (
  { name, masq, masq6 }: Zone,
  conditions: readonly Condition[],
): ChainRule => ({
  origin: leakageOf(name),
  conditions: [
    ...(masq === masq6 ? [] : [{ on: 'family', is: masq ? 4 : 6, option: 'masq' } as const]),
    // firewall4 does not look at the zone's family here.
    ...conditions.filter(({ on }) => on !== 'family'),
    { on: 'invalid', option: 'masq_allow_invalid' },
  ],
  action: { do: 'drop' },
});
