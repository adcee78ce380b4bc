import * as fc from 'fast-check';
import { expect, it } from 'vitest';
import type { Report, RuleReport } from '#shared/protocol/report.ts';
import { caseCount } from '#shared/runtime/testing.ts';
import { NOW, SILENT_AFTER, sentReport, word } from '../testing/facts.ts';
import { Reports, type Acceptance } from './reports.ts';

const POD = 'pod-1';

/** An agent as the protocol has it: whole at first, then what has changed since the last answer. */
class Agent {
  #boot = 1;
  #sequence = 0;
  #base: { sequence: number; rules: readonly RuleReport[] } | undefined;
  rules: readonly RuleReport[] = [];
  /** By boot and moment: the rules that it had. */
  readonly had = new Map<string, readonly RuleReport[]>();

  boots(): void {
    this.#boot += 1;
    this.#base = undefined;
  }

  next(): Report {
    this.#sequence += 1;
    const bootId = `boot-000${this.#boot}`;
    const clock = { startedAt: 0, sentAt: this.#sequence };
    this.had.set(momentOf(bootId, clock), this.rules);
    const of = { bootId, clock, sequence: this.#sequence };
    if (this.#base === undefined) return sentReport({ ...of, rules: [...this.rules] });
    const known = new Map(this.#base.rules.map((rule) => [rule.uid, rule]));
    const rules = this.rules.filter(
      ({ uid, generation }) => known.get(uid)?.generation !== generation,
    );
    for (const { uid } of this.rules) known.delete(uid);
    return sentReport({ ...of, repeats: this.#base.sequence, rules, gone: [...known.keys()] });
  }

  /** Whether that was all. */
  hears({ repeats, rules, gone = [], sequence }: Report, { outcome }: Acceptance): boolean {
    if (outcome === 'unknown-base') this.#base = undefined;
    else if (repeats === undefined || rules.length + gone.length > 0)
      this.#base = { sequence, rules: this.rules };
    return outcome !== 'unknown-base';
  }
}

const momentOf = (bootId: string, { sentAt }: Report['clock']): string => `${bootId} ${sentAt}`;

const anyStep = fc.record({
  uids: fc.subarray(['a', 'b', 'c', 'd']),
  generation: fc.integer({ min: 1, max: 2 }),
  boots: fc.nat(9),
  forgets: fc.nat(9),
  /** A report comes, or is lost, or its answer is; it comes twice, or after a later one. */
  fate: fc.constantFrom('comes', 'comes', 'lost', 'unanswered', 'twice', 'late'),
});

it('leaves a coordinator with rules that the agent had, whatever becomes of messages', () => {
  const history = fc.property(fc.array(anyStep, { maxLength: 20 }), (steps) => {
    const agent = new Agent();
    let reports = new Reports({ silentAfterMs: SILENT_AFTER });
    let late: Report[] = [];
    const take = (sent: Report): Acceptance => {
      const at = { monotonic: sent.sequence, wall: NOW };
      const acceptance = reports.accept(POD, reports.completed(POD, sent), at);
      const now = reports.of(POD);
      const had = now ? agent.had.get(momentOf(now.bootId, now.clock)) : [];
      expect(generations(now?.rules.values())).toEqual(generations(had));
      return acceptance;
    };
    for (const { uids, generation, boots, forgets, fate } of steps) {
      if (boots === 0) agent.boots();
      if (forgets === 0) reports = new Reports({ silentAfterMs: SILENT_AFTER });
      agent.rules = uids.map((uid) => word({ uid, generation }));
      for (let isOver = false; !isOver;) {
        const sent = agent.next();
        const times = { comes: 1, lost: 0, unanswered: 1, twice: 2, late: 0 }[fate];
        const [answer] = Array.from({ length: times }, () => take(sent));
        const isHeard = answer !== undefined && fate !== 'unanswered';
        isOver = isHeard ? agent.hears(sent, answer) : true;
        if (fate === 'late') late.push(sent);
      }
      if (fate === 'late') continue;
      late.forEach(take);
      late = [];
    }
  });
  fc.assert(history, { numRuns: caseCount(300) });
});

const generations = (rules: Iterable<RuleReport> = []): Record<string, number> =>
  Object.fromEntries([...rules].map(({ uid, generation }) => [uid, generation]));
