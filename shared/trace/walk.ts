/** A packet through one chain of the kernel. */
import { fits } from './conditions.ts';
import { marked, type Travelling } from './packet.ts';
import type { Action, ChainRule, Condition, Firewall, Origin, Zone } from './types.ts';

/** Thrown where something would have to be known: the trace begins again with either answer. */
export class Unanswered extends Error {
  override name = 'Unanswered';
  readonly words: string;
  constructor(words: string) {
    super(words);
    this.words = words;
  }
}

/** Thrown where a rule decides that is not understood. */
export class Undecidable extends Error {
  override name = 'Undecidable';
}

/** As much of a firewall as a packet meets. */
export type Walkable = Pick<Firewall, 'chains'> & {
  zones: readonly Pick<Zone, 'name' | 'matches'>[];
};

/** Answers that have been assumed, by their words. */
export type Answers = ReadonlyMap<string, boolean>;

/** A rule that did not fit; `condition`: the first that did not, behind `depth` ones that did. */
export type PassedOver = { origin: Origin; condition: Condition; depth: number };

export type Decision = {
  rule: ChainRule;
  action: Action;
  /** From the base chain to the rule: those that led to it. The last is the rule itself. */
  by: readonly ChainRule[];
};

export type Walk = {
  decision: Decision | undefined;
  passed: readonly PassedOver[];
  /** Those that fitted, and asked the next rule all the same. */
  done: readonly ChainRule[];
};

type Way = {
  firewall: Pick<Walkable, 'chains'>;
  at: Travelling;
  answers: Answers;
  passed: PassedOver[];
  done: ChainRule[];
};

/** @throws Unanswered, Undecidable */
export const walk = (
  chain: string,
  at: Travelling,
  { firewall, answers }: { firewall: Pick<Walkable, 'chains'>; answers: Answers },
): Walk => {
  const passed: PassedOver[] = [];
  const done: ChainRule[] = [];
  const decision = into(chain, [], { firewall, at, answers, passed, done });
  return { decision, passed, done };
};

const into = (chain: string, by: readonly ChainRule[], way: Way): Decision | undefined => {
  for (const rule of way.firewall.chains.get(chain) ?? []) {
    const missed = firstMisfit(rule.conditions, way);
    if (missed) {
      const depth = rule.conditions.indexOf(missed);
      way.passed.push({ origin: rule.origin, condition: missed, depth });
      continue;
    }
    if (rule.action.do === 'return') return undefined;
    const decision = act(rule, [...by, rule], way);
    if (decision) return decision;
  }
  return undefined;
};

/** What is known is looked at first, so that nothing is asked that makes no difference. */
const firstMisfit = (
  conditions: readonly Condition[],
  { at, answers }: Way,
): Condition | undefined =>
  conditions.find((condition) => fits(condition, at) === false) ??
  conditions.find((condition) => !answered(fits(condition, at), answers));

/** @throws Unanswered */
export const answered = (fit: boolean | string, answers: Answers): boolean => {
  if (typeof fit === 'boolean') return fit;
  const answer = answers.get(fit);
  if (answer === undefined) throw new Unanswered(fit);
  return answer;
};

/** Whose decision it is. */
export const deciderOf = ({ by }: Decision): Origin | undefined =>
  by.findLast(({ origin }) => origin.of !== 'entry' && origin.of !== 'passage')?.origin;

/** Undefined where the next rule is asked. */
const act = (rule: ChainRule, by: readonly ChainRule[], way: Way): Decision | undefined => {
  const { action } = rule;
  if (action.do === 'jump') return into(action.chain, by, way);
  if (action.do === 'unknown') throw new Undecidable(action.words);
  const { at, done } = way;
  if (action.do === 'mark') at.mark = marked(at.mark, action);
  else if (action.do === 'dscp') at.dscp = action.value;
  else if (action.do === 'notrack') at.state = 'untracked';
  if (!GOES_ON.has(action.do)) return { rule, action, by };
  done.push(rule);
  return undefined;
};

const GOES_ON: ReadonlySet<Action['do']> = new Set(['mark', 'dscp', 'continue']);
