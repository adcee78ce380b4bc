/**
 * A packet that comes to a rule, to see the rule at work. The search goes through the packets that meet all conditions on their way, from where packets
 * come here to where they go, and `trace` says whether the rule has them. Where another rule has them instead, all that it matches is left out from then on.
 */
import type { UciSection } from '../../uci/model.ts';
import { Space, without } from '../boxes.ts';
import type { Packet } from '../packet.ts';
import { trace, type Branch, type RuleStage, type Trace, type World } from '../trace.ts';
import type { Family, Firewall } from '../types.ts';
import { journeysTo, type Journey } from './journeys.ts';
import { isSamePath, Paths, type Path } from './paths.ts';
import { picksFrom } from './picks.ts';
import { Places, type Ground, type Hop } from './places.ts';
import { Terrain } from './terrain.ts';

/** `isCertain`: whatever else is not known of the packet. */
export type Example = { packet: Packet; trace: Trace; isCertain: boolean };

/** `isSearched`: there is no such packet; where it is false and there is no example, that is not known. */
export type Sought = { example: Example | undefined; isSearched: boolean };

export type KnownWorld = Omit<World, 'firewall'> & { firewall: Firewall };

/** For one rule: traces, and ways to it. */
const MAX_TRACES = 300;
const MAX_JOURNEYS = 2_000;

export const exampleOf = (section: UciSection, world: KnownWorld): Sought => {
  const search = new Search(section, world);
  for (const family of [4, 6] as const) search.among(family);
  return search.sought();
};

/** As people would send it: without what makes no difference. */
export const briefly = (section: UciSection, world: KnownWorld, packet: Packet): Packet => {
  let brief = packet;
  let cases = trace(packet, world).branches.length;
  for (const one of ['sourcePort', 'mac', 'mark'] as const) {
    const shorter = { ...brief, [one]: undefined };
    const { branches } = trace(shorter, world);
    if (branches.length > cases || !branches.some(({ met }) => met.has(section))) continue;
    brief = shorter;
    cases = branches.length;
  }
  return brief;
};

const isHit = (told: Trace, section: UciSection): boolean =>
  told.isWhole && told.branches.every(({ met }) => met.has(section));

class Search {
  readonly #section: UciSection;
  readonly #world: KnownWorld;
  readonly #paths: Paths;
  #certain: Example | undefined;
  #uncertain: Example | undefined;
  #isSearched = true;
  #traces = 0;
  #journeys = 0;

  constructor(section: UciSection, world: KnownWorld) {
    this.#section = section;
    this.#world = world;
    this.#paths = new Paths(world.firewall.chains);
  }

  sought(): Sought {
    const example = this.#certain ?? this.#uncertain;
    return { example, isSearched: this.#isSearched && example === undefined };
  }

  among(family: Family): void {
    const { surroundings, firewall } = this.#world;
    const terrain = new Terrain(family, surroundings);
    const space = new Space(family, [...firewall.chains.values()].flat(), terrain.devices);
    for (const journey of journeysTo(this.#section, { paths: this.#paths, terrain })) {
      if (this.#certain) return;
      if (this.#isExhausted()) return;
      this.#journeys += 1;
      this.#along(journey, { space, terrain, surroundings });
    }
  }

  #isExhausted(): boolean {
    const isSo = this.#traces >= MAX_TRACES || this.#journeys >= MAX_JOURNEYS;
    if (isSo) this.#isSearched = false;
    return isSo;
  }

  #along(journey: Journey, ground: Ground): void {
    const places = new Places(journey, ground);
    const { boxes, asked } = places.start();
    const left = [...boxes];
    for (let box = left.pop(); box && !this.#isExhausted(); box = left.pop()) {
      const packets = picksFrom(box, { ...ground, asked });
      if (packets.length === 0) continue;
      const blocker = this.#try(packets, journey);
      if (this.#certain) return;
      const taken = blocker && places.of(blocker);
      if (taken?.isExact) left.push(...without(box, taken.box));
      else this.#isSearched = false;
    }
  }

  /** @returns the rules that have the first of them; undefined where that cannot be told */
  #try(packets: readonly Packet[], journey: Journey): Hop | undefined {
    let blocker: Hop | undefined;
    for (const packet of packets) {
      this.#traces += 1;
      const told = trace(packet, this.#world);
      if (isHit(told, this.#section)) {
        this.#certain = { packet, trace: told, isCertain: true };
        return undefined;
      }
      if (told.branches.some(({ met }) => met.has(this.#section)))
        this.#uncertain ??= { packet, trace: told, isCertain: false };
      const [first] = told.branches;
      const hop = first && blockerIn(first, journey, this.#paths);
      blocker ??= hop && { ...hop, packet };
    }
    return blocker;
  }
}

/** The first rules that have decided in place of those of the journey; undefined where those of the journey come first, and have not fitted. */
const blockerIn = ({ stages }: Branch, journey: Journey, paths: Paths): Hop | undefined => {
  const expected = expectedIn(journey);
  for (const stage of stages) {
    if (!('decision' in stage) || !stage.decision || !matters(stage.stage, journey)) continue;
    const { by } = stage.decision;
    const own = expected[stage.stage];
    if (own && isSamePath(own.rules, by)) continue;
    if (own && !paths.precedes(by, own)) return undefined;
    return { rules: by, isBeforeRouting: stage.stage === 'notrack' || stage.stage === 'dnat' };
  }
  return undefined;
};

type RuleStageName = RuleStage['stage'];

const expectedIn = ({
  path,
  translation,
  accepted,
}: Journey): Readonly<Record<RuleStageName, Path | undefined>> => {
  const of = (base: string): Path | undefined => (path.base === base ? path : undefined);
  return {
    notrack: of('raw_prerouting'),
    dnat: of('dstnat') ?? translation?.path,
    filter: accepted ?? of('input') ?? of('forward') ?? of('output'),
    snat: of('srcnat'),
  };
};

/** Whether what decides there can take the packet off its way. */
const matters = (stage: RuleStageName, { path, translation, way, accepted }: Journey): boolean => {
  if (stage === 'notrack')
    return translation !== undefined || ['raw_prerouting', 'dstnat', 'srcnat'].includes(path.base);
  if (stage === 'dnat') return way !== undefined || path.base === 'dstnat';
  if (stage === 'filter') return accepted !== undefined || path.base === way;
  return path.base === 'srcnat';
};
