/** Mutants of Stryker that change nothing that anybody could see. Each is a claim: an entry that a test kills after all is an error. */
import type { Equivalent } from './operators.ts';

export const EQUIVALENT: readonly Equivalent[] = [
  {
    file: 'coordinator/verdict/decide.ts',
    line: '.sort((one, other) =>',
    becomes: ['one.name < other.name → one.name <= other.name'],
    why: 'pods of a namespace have different names',
  },
  {
    file: 'coordinator/verdict/decide.ts',
    line: "if (target.agent.state === 'started' &&",
    becomes: ["target.agent.state === 'started' → true"],
    why: 'other agents have no `restarts`, and nothing is less than undefined',
  },
  {
    file: 'coordinator/verdict/rollup.ts',
    line: '.sort((one, other) =>',
    becomes: ['one.name < other.name → one.name <= other.name'],
    why: 'pods of a namespace have different names',
  },
  {
    file: 'coordinator/verdict/rollup.ts',
    line: 'if (unreported && isCurrent(rule)',
    becomes: ['rule.status?.pods → rule.status.pods'],
    why: 'a rule without a status is not current',
  },
  {
    file: 'coordinator/verdict/pod-verdict.ts',
    line: 'if (isAwaited(target, report, context)',
    becomes: ['rule.status?.inSync → rule.status.inSync'],
    why: 'a rule without a status is not current',
  },
  {
    file: 'coordinator/verdict/pod-verdict.ts',
    line: "word?.state === 'Applied'",
    becomes: ['word?.state → word.state'],
    why: 'without a word there is a problem, and not this one',
  },
  {
    file: 'agent/reconcile/loop.ts',
    line: 'let dirty = true',
    becomes: ['true → false'],
    why: 'a full pass is due at the start anyway',
  },
  {
    file: 'agent/reconcile/loop.ts',
    line: "signal.addEventListener('abort'",
    becomes: ['{ once: true } → {}', 'true → false'],
    why: 'a signal aborts once',
  },
  {
    file: 'agent/reconcile/pass.ts',
    line: 'before.length === after?.length',
    becomes: ['after?.length → after.length'],
    why: 'packages that differ are among the desired ones',
  },
  {
    file: 'agent/reconcile/pass.ts',
    line: 'return other !== undefined',
    becomes: ['other !== undefined → true'],
    why: 'both lists are of one length by then',
  },
  {
    file: 'agent/reconcile/refusals.ts',
    line: "let incarnation = ''",
    becomes: ['\'\' → "Stryker was here!"'],
    why: 'nothing is refused before the first review',
  },
];
