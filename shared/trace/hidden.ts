/**
 * Rules to which no packet comes, because others decide for all that they match. A rule is called
 * hidden only when that is certain: what cannot be told beforehand hides nothing, and where sets of
 * packets become too many pieces, too much counts as left.
 */
import { both, inBoth, Space, without, type Box } from './boxes.ts';
import type { ChainRule, Family, Firewall, Origin } from './types.ts';
import { UPLINKS } from './uplinks.ts';
import type { UciSection } from '../uci/model.ts';
import { oncePerObject } from '../util/memo.ts';

/** `by`: in their order, those that decide before it; none where nothing can match it at all. */
export type Hidden = { section: UciSection; by: readonly Origin[] };

type Chains = Pick<Firewall, 'chains'>;
const BASE = ['input', 'forward', 'output', 'dstnat', 'srcnat', UPLINKS] as const;
const MAX_BOXES = 300;
/** A caller waits for the answer about one; what is cut into more pieces is seldom hidden. */
const MAX_BOXES_OF_ONE = 32;

export const hiddenRules = (firewall: Chains): readonly Hidden[] => {
  const decided = new Set<UciSection>();
  const hidingRules = new Map<UciSection, Set<Origin>>();
  for (const family of [4, 6] as const)
    for (const chain of BASE) {
      const flow = new Flow(firewall, family);
      flow.through(chain);
      for (const section of flow.decided) decided.add(section);
      for (const [section, origins] of flow.hidingRules) {
        const all = hidingRules.getOrInsert(section, new Set());
        for (const origin of origins) all.add(origin);
      }
    }
  return [...hidingRules]
    .filter(([section]) => !decided.has(section))
    .map(([section, by]) => ({ section, by: [...by] }));
};

/**
 * Who decides before a section for all that it matches, in their order; undefined where some packet
 * may come to it. As `hiddenRules` says of it, but at the price of its own packets, and sooner too
 * much counts as left.
 */
export const hidingRulesOf = (
  firewall: Chains,
  section: UciSection,
): readonly Origin[] | undefined => {
  const hidingRules = new Set<Origin>();
  let isThere = false;
  for (const family of [4, 6] as const)
    for (const chain of BASE) {
      const flow = new Flow(firewall, family, section);
      flow.through(chain);
      if (flow.decided.has(section)) return undefined;
      const found = flow.hidingRules.get(section);
      isThere ||= found !== undefined;
      for (const origin of found ?? []) hidingRules.add(origin);
    }
  return isThere ? [...hidingRules] : undefined;
};

/** Once for all chains, and for all sections that are asked about. */
const readOf = oncePerObject(({ chains }: Chains) => {
  const rules = [...chains.values()].flat();
  const spaceOf = (family: Family) => {
    const space = new Space(family, rules);
    return { space, fitting: oncePerObject(({ conditions }: ChainRule) => space.of(conditions)) };
  };
  return { rules, spaces: { 4: spaceOf(4), 6: spaceOf(6) } };
});

/** `decider`: whose rule has led to a chain; `box`: packets that its conditions let through. */
type Way = { decider: Origin | undefined; box: Box };

/** Packets of one version of IP on their way through one base chain. */
class Flow {
  /** Sections that decide for some packet, or could. */
  readonly decided = new Set<UciSection>();
  readonly hidingRules = new Map<UciSection, Set<Origin>>();
  readonly #firewall: Chains;
  readonly #only: UciSection | undefined;
  /** Its rules. */
  readonly #own: readonly ChainRule[] | undefined;
  readonly #most: number;
  readonly #space: Space;
  readonly #fitting: (rule: ChainRule) => ReturnType<Space['of']>;
  /** What each has decided, in the order of the kernel. */
  readonly #taken: { origin: Origin; box: Box }[] = [];

  /** `only`: of packets that this section matches, and about it alone. */
  constructor(firewall: Chains, family: Family, only?: UciSection) {
    const { rules, spaces } = readOf(firewall);
    this.#firewall = firewall;
    this.#only = only;
    this.#most = only ? MAX_BOXES_OF_ONE : MAX_BOXES;
    this.#own = only && rules.filter(({ origin }) => isFrom(origin, only));
    ({ space: this.#space, fitting: this.#fitting } = spaces[family]);
  }

  through(chain: (typeof BASE)[number]): void {
    const all = this.#space.all();
    const box =
      chain === 'input'
        ? this.#space.without(all, 'out')
        : chain === 'output'
          ? this.#space.without(all, 'in')
          : all;
    this.#walk(chain, this.#within(box), { decider: undefined, box });
  }

  #within(box: Box): readonly Box[] {
    if (!this.#own) return [box];
    return inBoth(
      this.#own.flatMap((rule) => {
        const fitting = this.#fitting(rule);
        return fitting ? [fitting.box] : [];
      }),
      box,
    );
  }

  /** @returns what is left of them behind the chain */
  #walk(chain: string, packets: readonly Box[], way: Way): readonly Box[] {
    let left = packets;
    for (const rule of this.#firewall.chains.get(chain) ?? [])
      if (isDeciding(rule)) left = this.#ask(rule, left, way);
    return left;
  }

  #ask(rule: ChainRule, packets: readonly Box[], way: Way): readonly Box[] {
    const { origin } = rule;
    const fitting = this.#fitting(rule);
    const box = fitting && both(fitting.box, way.box);
    if (origin.of === 'section' && (!this.#only || isFrom(origin, this.#only)))
      this.#note(origin, box);
    const asked = box ? inBoth(packets, box) : [];
    if (!fitting || !box) return packets;
    const next = { box, decider: PASSING.has(origin.of) ? way.decider : origin };
    const back = this.#act(rule, asked, { ...next, isExact: fitting.isExact });
    if (asked.length === 0 || !fitting.isExact) return packets;
    const rest = [...packets.flatMap((one) => without(one, fitting.box)), ...back];
    return rest.length > this.#most ? packets : rest;
  }

  /** @returns what comes back from the chain that it leads to */
  #act(
    { origin, action }: ChainRule,
    asked: readonly Box[],
    { decider, box, isExact }: Way & { isExact: boolean },
  ): readonly Box[] {
    // What is in a zone's chain is noted, also where nothing comes to it.
    if (action.do === 'jump')
      return asked.length > 0 || origin.of === 'entry'
        ? this.#walk(action.chain, asked, { decider, box })
        : [];
    if (decider && asked.length > 0) this.#decide(decider, asked, isExact);
    return [];
  }

  #decide(origin: Origin, boxes: readonly Box[], isExact: boolean): void {
    if (origin.of === 'section') this.decided.add(origin.section);
    if (isExact) for (const box of boxes) this.#taken.push({ origin, box });
  }

  /** Which section has decided before for something that the rule matches. */
  #note({ section }: Origin & { of: 'section' }, box: Box | undefined): void {
    const all = this.hidingRules.getOrInsert(section, new Set());
    for (const taken of this.#taken) if (box && both(taken.box, box)) all.add(taken.origin);
  }
}

const isFrom = (origin: Origin, section: UciSection): boolean =>
  origin.of === 'section' && origin.section === section;

/** They do what another rule has decided. */
const PASSING: ReadonlySet<Origin['of']> = new Set(['entry', 'passage']);

const GOES_ON: ReadonlySet<string> = new Set(['mark', 'dscp', 'continue', 'notrack']);
const isDeciding = ({ action }: ChainRule): boolean => !GOES_ON.has(action.do);
