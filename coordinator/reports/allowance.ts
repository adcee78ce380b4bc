/**
 * How much of agents' reports is kept, so that no pod can fill the coordinator's memory: only
 * states of rules of the pod's own namespace, and a limited amount for each pod and namespace. Of
 * unknown rules little is kept, since the agent's watch can be ahead of ours.
 */
import type { Report, RuleReport } from '#shared/protocol/report.ts';
import type { CnfPod } from '../sources/cnf-pod.ts';
import { Refusal } from './refusal.ts';

/** Characters. The state of a rule usually has 200; 10,000 rules that failed have 5 million. */
export const MOST_OF_A_POD = 8_388_608;
export const MOST_OF_A_NAMESPACE = 33_554_432;
/**
 * Beyond it a namespace has no more than its share of it: twenty together have three times as much
 * at worst, which is less than Node is given.
 */
export const MOST_OF_ALL = 67_108_864;
/** Characters for rules that are not known (yet). */
export const MOST_UNKNOWN = 131_072;
/**
 * Before the kubelet has reported that the agent was started: enough for a beginning, and too
 * little for an attack by pods that never run.
 */
export const MOST_BEFORE_A_START = 65_536;
/** What an object takes beside its texts. */
const OF_A_WORD = 100;

type Kept = {
  namespace: string;
  /** Which report: pages of one add up. */
  report: string;
  length: number;
  unknown: number;
  /** Something was left out that may be missed. */
  isIncomplete: boolean;
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

  /**
   * The part of a page to keep; `keep` counts it, once the page is known not to be late. @throws
   * Refusal when it is too much
   */
  take({ uid, namespace, agent }: CnfPod, page: Report): { report: Report; keep: () => void } {
    if (page.repeats !== undefined) return { report: page, keep: () => undefined };
    const report = `${page.bootId} ${page.sequence}`;
    const before = this.#pods.get(uid);
    const isNext = before?.report === report;
    const now: Kept = isNext
      ? { ...before }
      : { namespace, report, length: 0, unknown: 0, isIncomplete: false };
    const rules = page.rules.filter((word) => this.#isKept(word, now));
    for (const word of rules) now.length += lengthOf(word);
    const most = agent.state === 'started' ? MOST_OF_A_POD : MOST_BEFORE_A_START;
    const more = now.length - (before?.length ?? 0);
    const ofNamespace = (this.#namespaces.get(namespace) ?? 0) + more;
    if (now.length > most || ofNamespace > this.#mostOf(namespace, more))
      throw new Refusal('too-much');
    return {
      report: { ...page, rules },
      keep: () => {
        this.#all += more;
        this.#pods.set(uid, now);
        this.#namespaces.set(namespace, ofNamespace);
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
    this.#all -= kept.length;
    const left = (this.#namespaces.get(kept.namespace) ?? 0) - kept.length;
    if (left > 0) this.#namespaces.set(kept.namespace, left);
    else this.#namespaces.delete(kept.namespace);
  }

  #mostOf(namespace: string, more: number): number {
    if (this.#all + more <= MOST_OF_ALL) return MOST_OF_A_NAMESPACE;
    const isNew = !this.#namespaces.has(namespace);
    return MOST_OF_ALL / (this.#namespaces.size + (isNew ? 1 : 0));
  }

  #isKept(word: RuleReport, now: Kept): boolean {
    const of = this.#namespaceOf(word.uid);
    if (of !== undefined) return of === now.namespace;
    now.unknown += lengthOf(word);
    const isKept = now.unknown <= MOST_UNKNOWN;
    now.isIncomplete ||= !isKept;
    return isKept;
  }
}

const lengthOf = ({ kind, name, uid, revision, reason, message }: RuleReport): number =>
  [kind, name, uid, revision, reason, message].reduce((sum, text) => sum + text.length, OF_A_WORD);
