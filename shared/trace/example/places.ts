/** Sets of packets of one journey, as they come in: in boxes, whose conditions are those of all hooks together. */
import { inBoth, narrowed, type Box, type Space } from '../boxes.ts';
import { fits } from '../conditions.ts';
import { canBegin, ICMP, marked, setOut, type Packet, type Travelling } from '../packet.ts';
import { wayOf } from '../routes.ts';
import type { ChainRule, Condition, Family, Range, Surroundings } from '../types.ts';
import { isBeforeRouting, type Journey } from './journeys.ts';
import { actionOf } from './paths.ts';
import type { Terrain } from './terrain.ts';

export type Ground = { space: Space; terrain: Terrain; surroundings: Surroundings };

/** Rules that all fit. `packet`: one that they match; of addresses under a mask, only its own are meant. */
export type Hop = {
  rules: readonly ChainRule[];
  isBeforeRouting: boolean;
  packet?: Packet | undefined;
};

export class Places {
  readonly #journey: Journey;
  readonly #ground: Ground;

  constructor(journey: Journey, ground: Ground) {
    this.#journey = journey;
    this.#ground = ground;
  }

  /** `asked`: all conditions, those among them that no box can say. */
  start(): { boxes: readonly Box[]; asked: readonly Condition[] } {
    const { path, translation, mark, accepted } = this.#journey;
    const hops = [translation?.path, mark, accepted, path].flatMap((one) => one ?? []);
    let boxes = this.#terrain();
    for (const { base, rules } of hops) {
      const matched = this.of({ rules, isBeforeRouting: isBeforeRouting(base) });
      if (!matched) return { boxes: [], asked: [] };
      boxes = inBoth(boxes, matched.box);
    }
    return { boxes, asked: hops.flatMap(({ rules }) => rules.flatMap((one) => one.conditions)) };
  }

  /** What all of the rules match: undefined where that is nothing, not exact where it is more than that. */
  of({ rules, packet, ...hop }: Hop): { box: Box; isExact: boolean } | undefined {
    const { space, terrain } = this.#ground;
    const at = this.#travelling(hop.isBeforeRouting);
    const left: Condition[] = [];
    let isExact = true;
    for (const condition of rules.flatMap(({ conditions }) => conditions)) {
      if (!this.#isAlike(condition, hop.isBeforeRouting)) {
        const one = packet ? withoutMask(condition, packet) : condition;
        left.push(...inBoxes(one, terrain.family));
        continue;
      }
      const fit = fits(condition, at);
      if (fit === false) return undefined;
      isExact &&= fit === true;
    }
    const found = space.of(left);
    return found && { box: found.box, isExact: found.isExact && isExact };
  }

  /** For all packets of the journey. */
  #isAlike({ on }: Condition, isBefore: boolean): boolean {
    const { translation } = this.#journey;
    if (on === 'mark' || on === 'dnat') return true;
    if (isBefore) return false;
    return (
      (on === 'destination' && translation?.to !== undefined) ||
      (on === 'destinationPort' && translation?.ports !== undefined)
    );
  }

  /** What is alike for all of them; the rest is anything. */
  #travelling(isBefore: boolean): Travelling {
    const { translation, mark } = this.#journey;
    const { family } = this.#ground.terrain;
    const at = setOut({ ...ANYTHING, family });
    const action = mark && actionOf(mark);
    if (action?.do === 'mark') at.mark = marked(at.mark, action);
    if (isBefore || !translation) return at;
    at.destination = translation.to ?? at.destination;
    at.destinationPort = translation.ports;
    at.isTranslated = true;
    return at;
  }

  /** From where they come, to where they go. */
  #terrain(): readonly Box[] {
    const { space, terrain } = this.#ground;
    const { way, translation } = this.#journey;
    const devices = translation?.in === undefined ? terrain.devices : [translation.in];
    const coming =
      way === 'output' ? space.without(space.all(), 'in') : space.by(space.all(), 'in', devices);
    const from = narrowed(
      coming,
      'source',
      way === 'output' ? terrain.own() : terrain.sources(way),
    );
    const anywhere = narrowed(from, 'destination', [...terrain.hosts(), ...terrain.own()]);
    if (way === undefined) return [space.without(anywhere, 'out')];
    if (translation?.to) return this.#to(translation.to, anywhere);
    if (way === 'input')
      return [narrowed(space.without(from, 'out'), 'destination', terrain.own())];
    return terrain.devices.map((device) =>
      narrowed(space.by(from, 'out', [device]), 'destination', terrain.behind(device)),
    );
  }

  #to(destination: Range, from: Box): readonly Box[] {
    const { space, surroundings, terrain } = this.#ground;
    const at = this.#travelling(false);
    at.destination = destination;
    const leaves = terrain.devices.filter((device) => {
      const answers = new Map(
        terrain.devices.map((one) => [`it leaves by ${one}`, one === device]),
      );
      const taken = wayOf(at, { surroundings, out: undefined, answers });
      return taken.to === 'device' && taken.device === device;
    });
    if (this.#journey.way !== 'input') return leaves.map((one) => space.by(from, 'out', [one]));
    return leaves.length === 0 ? [space.without(from, 'out')] : [];
  }
}

const ANYTHING = { in: undefined, source: 0n, destination: 0n, protocol: 6, mark: 0 } as const;

const withoutMask = (condition: Condition, packet: Packet): Condition => {
  if (condition.on !== 'source' && condition.on !== 'destination') return condition;
  if (!('mask' in condition)) return condition;
  const { on, option, family } = condition;
  const one = packet[on];
  return { on, option, family, ranges: [{ low: one, high: one }], negated: false };
};

/** What can begin no connection is told by its type. */
const inBoxes = (condition: Condition, family: Family): readonly Condition[] => {
  if (condition.on !== 'invalid') return [condition];
  const { option } = condition;
  const types = Array.from({ length: 256 }, (_, type) => type).filter(
    (type) => !canBegin(family, type),
  );
  return [
    { on: 'protocol', in: [ICMP[family]], option },
    { on: 'icmp', types: types.map((type) => ({ type, code: undefined })), option },
  ];
};
