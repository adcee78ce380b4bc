/**
 * The first packet of a connection through the firewall of a CNF, stage by stage, in the kernel's
 * order. What it cannot know becomes alternatives: `A if …, else B`.
 */
import { setOut, type Packet, type Travelling } from './packet.ts';
import { wayOf, type Way } from './routes.ts';
import type { Action, Origin, PortRange, Range, Surroundings, Verdict } from './types.ts';
import {
  deciderOf,
  Unanswered,
  Undecidable,
  walk,
  type Answers,
  type Decision,
  type PassedOver,
  type Walk,
  type Walkable,
} from './walk.ts';
import { own } from '../util/own.ts';

export type TracedCnf = {
  firewall: Walkable;
  surroundings: Surroundings;
  /** False: sections are missing, that with the defaults among them. */
  isWhole: boolean;
  /** The device by which it leaves, where the asker knows better than the routes. */
  out?: string | undefined;
};

/** Names of zones that it belongs to there, in the order in which they are asked. */
export type ZoneStage = { stage: 'zone in' | 'zone out'; device: string; zones: readonly string[] };
export type RouteStage = { stage: 'route'; way: Way };
export type MarkStage = {
  stage: 'mark';
  by: Origin[];
  mark: number;
  passed: readonly PassedOver[];
};
export type RuleStage = {
  stage: 'notrack' | 'dnat' | 'filter' | 'snat';
  /** Undefined: no rule has decided. */
  by: Origin | undefined;
  decision: Decision | undefined;
  passed: readonly PassedOver[];
  /** What it has become, for a translation. */
  now?: Translated | undefined;
};
type Translated = {
  address: Range | undefined;
  ports: PortRange | undefined;
  device: string | undefined;
};
export type Stage = ZoneStage | RouteStage | MarkStage | RuleStage;

export type Outcome = {
  verdict: Verdict | 'undecided';
  /** Undefined: it was for the CNF, or goes nowhere. */
  out: string | undefined;
  isForCnf: boolean;
  /** As it leaves, or as the CNF gets it; undefined addresses are those of the device `out`. */
  source: Range | undefined;
  destination: Range;
  sourcePort: PortRange | undefined;
  destinationPort: PortRange | undefined;
  words?: string;
};

/** `assumed`: what is taken to be so, in words that follow an "if". */
export type Branch = {
  assumed: readonly { words: string; holds: boolean }[];
  stages: readonly Stage[];
  outcome: Outcome;
};

/** `isWhole` false: there are more alternatives than are listed. */
export type Trace = { branches: readonly Branch[]; isWhole: boolean };

export const MAX_BRANCHES = 16;

export const trace = (packet: Packet, cnf: TracedCnf): Trace => {
  const branches: Branch[] = [];
  const open: Answers[] = [new Map()];
  for (let answers = open.pop(); answers && branches.length < MAX_BRANCHES; answers = open.pop()) {
    const branch = attempt(packet, cnf, answers);
    if (branch instanceof Unanswered)
      for (const holds of [false, true]) open.push(new Map([...answers, [branch.words, holds]]));
    else branches.push(branch);
  }
  return { branches, isWhole: open.length === 0 };
};

/** No alternative ends otherwise than the first. */
export const isDecided = ({ branches, isWhole }: Trace): boolean =>
  isWhole &&
  branches.every(
    ({ outcome }) =>
      outcome.verdict !== 'undecided' &&
      textOf(outcome) === textOf(branches[0]?.outcome ?? outcome),
  );

const textOf = (outcome: Outcome): string =>
  JSON.stringify(outcome, (_, value: unknown) =>
    typeof value === 'bigint' ? String(value) : value,
  );

const attempt = (packet: Packet, cnf: TracedCnf, answers: Answers): Branch | Unanswered => {
  const journey = new Journey(packet, cnf, answers);
  const assumed = [...answers].map(([words, holds]) => ({ words, holds }));
  try {
    const outcome = packet.in === undefined ? journey.fromCnf() : journey.fromOutside();
    return { assumed, stages: journey.stages, outcome };
  } catch (error) {
    if (error instanceof Undecidable)
      return {
        assumed,
        stages: journey.stages,
        outcome: journey.undecided(error.message),
      };
    if (error instanceof Unanswered) return error;
    throw error;
  }
};

class Journey {
  readonly stages: Stage[] = [];
  readonly #at: Travelling;
  readonly #cnf: TracedCnf;
  readonly #answers: Answers;

  constructor(packet: Packet, cnf: TracedCnf, answers: Answers) {
    this.#at = setOut(packet);
    this.#cnf = cnf;
    this.#answers = answers;
  }

  fromOutside(): Outcome {
    this.#zones('zone in', 'in');
    this.#notrack();
    this.#mark('mangle_prerouting');
    this.#translate('dnat');
    const way = this.#route();
    if (way.to === undefined) return this.#ended('undecided', way.why);
    if (way.to === 'cnf') {
      this.#mark('mangle_input');
      return this.#filter('input', () => this.#ended('accept'));
    }
    return this.#forward(way.device);
  }

  fromCnf(): Outcome {
    const way = this.#route();
    if (way.to !== 'device')
      return this.#ended('undecided', way.to === 'cnf' ? 'it stays in the CNF' : way.why);
    this.#at.out = way.device;
    this.#zones('zone out', 'out');
    this.#mark('mangle_output');
    return this.#filter('output', () => this.#leave());
  }

  #forward(device: string): Outcome {
    this.#at.out = device;
    this.#zones('zone out', 'out');
    this.#mark('mangle_forward');
    return this.#filter('forward', () => this.#leave());
  }

  #leave(): Outcome {
    this.#mark('mangle_postrouting');
    this.#translate('snat');
    return this.#ended('accept');
  }

  #zones(stage: 'zone in' | 'zone out', side: 'in' | 'out'): void {
    const device = side === 'in' ? this.#at.in : this.#at.out;
    const { firewall } = this.#cnf;
    const zones = firewall.zones.filter(({ matches }) =>
      matches.some((match) => {
        const rule = {
          origin: { of: 'passage' },
          conditions: match(side),
          action: ACCEPT,
        } as const;
        const one = { chains: new Map([['zone', [rule]]]) };
        return walk('zone', this.#at, { firewall: one, answers: this.#answers }).decision;
      }),
    );
    this.stages.push({ stage, device: device ?? '', zones: zones.map(({ name }) => name) });
  }

  #walk(chain: string): Walk {
    const { firewall } = this.#cnf;
    return walk(chain, this.#at, { firewall, answers: this.#answers });
  }

  #notrack(): void {
    const { decision, passed } = this.#walk('raw_prerouting');
    if (decision) this.stages.push(ruleStage('notrack', decision, passed));
  }

  #mark(chain: string): void {
    const before = this.#at.mark;
    const { passed, done } = this.#walk(chain);
    if (this.#at.mark === before) return;
    const by = done.flatMap(({ origin, action }) => (action.do === 'mark' ? [origin] : []));
    this.stages.push({ stage: 'mark', by, mark: this.#at.mark.value, passed });
  }

  #route(): Way {
    const { surroundings, out } = this.#cnf;
    const way = wayOf(this.#at, { surroundings, out, answers: this.#answers });
    this.stages.push({ stage: 'route', way });
    return way;
  }

  /** The kernel translates nothing of what is not tracked. */
  #translate(kind: 'dnat' | 'snat'): void {
    if (this.#at.state !== 'new') return;
    const { decision, passed } = this.#walk(kind === 'dnat' ? 'dstnat' : 'srcnat');
    const stage = ruleStage(kind, decision, passed);
    if (decision?.action.do === 'dnat') stage.now = this.#toDestination(decision.action);
    if (decision?.action.do === 'snat') stage.now = this.#toSource(decision.action);
    this.stages.push(stage);
  }

  #toDestination({ to, ports, ofDevice }: Translating): Translated {
    const at = this.#at;
    const { destination, destinationPort } = at;
    const own = ofDevice ? this.#addressOf(at.in) : undefined;
    at.destination = to ?? own ?? destination;
    at.destinationPort = translatedPort(destinationPort, ports);
    at.isTranslated =
      !isSame(destination, at.destination) || !isSame(destinationPort, at.destinationPort);
    return { address: at.destination, ports: at.destinationPort, device: undefined };
  }

  #toSource({ to, ports, ofDevice }: Translating): Translated {
    const at = this.#at;
    at.source = ofDevice ? this.#addressOf(at.out) : (to ?? at.source);
    at.sourcePort = translatedPort(at.sourcePort, ports);
    return { address: at.source, ports: at.sourcePort, device: at.out };
  }

  /** The device's only address in this version of IP; undefined: not known, or one of several. */
  #addressOf(device: string | undefined): Range | undefined {
    const { networks } = this.#cnf.surroundings;
    const addresses = [...networks.values()]
      .filter((network) => network.device === device)
      .flatMap((network) => network.addresses)
      .filter(({ family }) => family === this.#at.packet.family);
    const [one] = addresses;
    return one && addresses.length === 1 ? { low: one.address, high: one.address } : undefined;
  }

  #filter(hook: 'input' | 'forward' | 'output', next: () => Outcome): Outcome {
    const { decision, passed } = this.#walk(hook);
    const stage = ruleStage('filter', decision, passed);
    if (!this.#cnf.isWhole && isOfDefaults(stage.by)) {
      this.stages.push({ ...stage, decision: undefined });
      return this.#ended('undecided', 'the section defaults decides, which is not known');
    }
    this.stages.push(stage);
    const action = decision?.action.do;
    if (action === 'accept') return next();
    if (action === 'reject' || action === 'drop') return this.#ended(action);
    return this.undecided('no rule decides');
  }

  undecided(words: string): Outcome {
    return this.#ended('undecided', words);
  }

  #ended(verdict: Outcome['verdict'], words?: string): Outcome {
    const { out, source, destination, sourcePort, destinationPort } = this.#at;
    const isForCnf = out === undefined;
    const packet = { source, destination, sourcePort, destinationPort };
    return { verdict, out, isForCnf, ...packet, ...(words !== undefined && { words }) };
  }
}

/** A zone that says nothing has the policy of the section `defaults`. */
const isOfDefaults = (by: Origin | undefined): boolean =>
  by?.of === 'default' || (by?.of === 'zone' && own(by.section.options, by.option) === undefined);

type Translating = Extract<Action, { do: 'dnat' | 'snat' }>;
const ACCEPT: Action = { do: 'accept' };

const ruleStage = (
  stage: RuleStage['stage'],
  decision: Decision | undefined,
  passed: readonly PassedOver[],
): RuleStage => ({ stage, by: decision && deciderOf(decision), decision, passed });

/** A port that is in the range stays as it is. */
const translatedPort = (
  port: PortRange | undefined,
  range: PortRange | undefined,
): PortRange | undefined =>
  range && port && port.low >= range.low && port.high <= range.high ? port : (range ?? port);

const isSame = (
  a: { low: unknown; high: unknown } | undefined,
  b: { low: unknown; high: unknown } | undefined,
): boolean => a?.low === b?.low && a?.high === b?.high;
