/**
 * How much of agents' reports is kept, so that no pod can fill the coordinator's memory: only
 * states of rules of the pod's own namespace, and a limited amount for each pod and namespace. Of
 * unknown rules little is kept, since the agent's watch can be ahead of ours. Whatever else a
 * report says is counted as well, by one measure, so that a field that comes later is.
 */
import type { Report, RuleReport } from '#shared/protocol/report.ts';
import type { CnfPod } from '../sources/cnf-pod.ts';
import { Refusal } from './refusal-codes.ts';

/** Bytes. The state of a rule usually has 250; 10,000 rules that failed have 5 million. */
export const MOST_OF_A_POD = 8_388_608;
export const MOST_OF_A_NAMESPACE = 33_554_432;
/** Beyond it a namespace that has less than its share pushes out a report of one that has more. */
export const MOST_OF_ALL = 67_108_864;
/** Bytes for rules that are not known (yet). */
export const MOST_UNKNOWN = 131_072;
/**
 * Before the kubelet has reported that the agent was started: enough for a beginning, and too
 * little for an attack by pods that never run.
 */
export const MOST_BEFORE_A_START = 65_536;
/** What a value takes beside its characters: the state of a rule has some ten values. */
const OF_A_VALUE = 16;

type Kept = {
  namespace: string;
  /** Which report: pages of one add up. */
  report: string;
  /** The pages of `report`, until all are there. */
  part: number;
  /** The last report of which all pages came: it stays until all of the next are there. */
  whole: number;
  /** By field, the last that came of it: some stay until they come again. */
  beside: Record<string, number>;
  unknown: number;
  /** Something was left out that may be missed. */
  isIncomplete: boolean;
};

type Taken = {
  report: Report;
  /**
   * Counts it, once the page is known not to be late. `isPartial`: more pages have to come. Gives
   * the uids of pods whose reports have to go for it.
   */
  keep: (isPartial: boolean) => string[];
};

export class Allowance {
  readonly #namespaceOf: (ruleUid: string) => string | undefined;
  readonly #pods = new Map<string, Kept>();
  readonly #namespaces = new Map<string, number>();
  #all = 0;

  /** `namespaceOf`: of a rule that is known. */
  constructor(namespaceOf: (ruleUid: string) => string | undefined) {
    this.#namespaceOf = namespaceOf;
  }

  /** The part of a page to keep. @throws Refusal when it is too much */
  take({ uid, namespace, agent }: CnfPod, page: Report): Taken {
    const before = this.#pods.get(uid);
    const isWhole = page.repeats === undefined;
    const now: Kept = {
      ...goingOn(page, before),
      namespace,
      beside: { ...before?.beside, ...besideOf(page) },
    };
    // What repeats a report that is not known here is not kept.
    const rules = isWhole
      ? withoutRepeated(page.rules).filter((word) => this.#isKept(word, now))
      : page.rules;
    if (isWhole) for (const word of rules) now.part += bytesOf(word);
    const most = agent.state === 'started' ? MOST_OF_A_POD : MOST_BEFORE_A_START;
    const after = isWhole && page.pages === 1 ? { ...now, whole: 0 } : now;
    const isTooMuch = sizeOf({ ...now, whole: 0 }) > most;
    if (isTooMuch || !this.#hasRoom(namespace, sizeOf(after) - sizeOf(before)))
      throw new Refusal('too-much');
    return {
      report: { ...page, rules },
      keep: (isPartial) => {
        if (isWhole && !isPartial) Object.assign(now, { whole: now.part, part: 0 });
        this.forget(uid);
        this.#pods.set(uid, now);
        this.#count(namespace, sizeOf(now));
        return this.#pushOut();
      },
    };
  }

  /** Whether the last report of the pod was not kept whole, and has to come again. */
  isIncomplete(podUid: string): boolean {
    return this.#pods.get(podUid)?.isIncomplete ?? false;
  }

  /** The pod is gone. */
  forget(podUid: string): void {
    const kept = this.#pods.get(podUid);
    if (!kept) return;
    this.#pods.delete(podUid);
    this.#count(kept.namespace, -sizeOf(kept));
  }

  #count(namespace: string, more: number): void {
    this.#all += more;
    const now = (this.#namespaces.get(namespace) ?? 0) + more;
    if (now > 0) this.#namespaces.set(namespace, now);
    else this.#namespaces.delete(namespace);
  }

  /** The largest reports of the namespaces that have most. */
  #pushOut(): string[] {
    const gone: string[] = [];
    while (this.#all > MOST_OF_ALL) {
      const [largest] = [...this.#namespaces].toSorted(([, one], [, other]) => other - one);
      const [uid] = [...this.#pods]
        .filter(([, { namespace }]) => namespace === largest?.[0])
        .reduce((one, other) => (sizeOf(other[1]) > sizeOf(one[1]) ? other : one));
      this.forget(uid);
      gone.push(uid);
    }
    return gone;
  }

  #hasRoom(namespace: string, more: number): boolean {
    return (this.#namespaces.get(namespace) ?? 0) + more <= this.#mostOf(namespace, more);
  }

  #mostOf(namespace: string, more: number): number {
    if (this.#all + more <= MOST_OF_ALL) return MOST_OF_A_NAMESPACE;
    const isNew = !this.#namespaces.has(namespace);
    return MOST_OF_ALL / (this.#namespaces.size + (isNew ? 1 : 0));
  }

  #isKept(word: RuleReport, now: Kept): boolean {
    const of = this.#namespaceOf(word.uid);
    if (of !== undefined) return of === now.namespace;
    now.unknown += bytesOf(word);
    const isKept = now.unknown <= MOST_UNKNOWN;
    now.isIncomplete ||= !isKept;
    return isKept;
  }
}

const sizeOf = (kept: Kept | undefined): number =>
  kept ? Object.values(kept.beside).reduce(sum, kept.part + kept.whole) : 0;

/** With the pages of that report that are there already. */
const goingOn = (page: Report, before: Kept | undefined): Omit<Kept, 'namespace' | 'beside'> => {
  const report = `${page.bootId} ${page.sequence}`;
  if (before && (page.repeats !== undefined || before.report === report)) return before;
  return { report, part: 0, whole: before?.whole ?? 0, unknown: 0, isIncomplete: false };
};

const besideOf = ({ rules: _counted, gone: _never, ...beside }: Report): Kept['beside'] =>
  Object.fromEntries(Object.entries(beside).map(([field, value]) => [field, bytesOf(value)]));

/** The last word about a rule is the one that would count. */
const withoutRepeated = (rules: readonly RuleReport[]): RuleReport[] => [
  ...new Map(rules.map((word) => [word.uid, word])).values(),
];

/** Memory holds a text in two bytes a character where one of them is beyond Latin-1. */
const bytesOf = (value: unknown): number => {
  if (typeof value === 'string')
    return OF_A_VALUE + (/[^\0-\xff]/.test(value) ? 2 * value.length : value.length);
  if (typeof value !== 'object' || value === null) return OF_A_VALUE;
  return Object.values(value).map(bytesOf).reduce(sum, OF_A_VALUE);
};

const sum = (one: number, other: number): number => one + other;
