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
  {
    file: 'shared/compile/adoption.ts',
    line: 'if (!isIcns && begun.size === 0)',
    becomes: ['!isIcns && begun.size === 0 → false'],
    why: 'it saves work: a claim of neither takes nothing',
  },
  {
    file: 'shared/compile/adoption.ts',
    line: 'if (known) return known;',
    becomes: ['known → false'],
    why: 'the index is only kept to save work',
  },
  {
    file: 'shared/compile/adoption.ts',
    line: 'indices.set(kind, index);',
    becomes: ['indices.set(kind, index); → ;'],
    why: 'the index is only kept to save work',
  },
  {
    file: 'shared/compile/adoption.ts',
    line: 'const named = sections.filter(',
    becomes: [
      'sections.filter((section) => uci?.icn?.nameOf(section) !== undefined) → sections',
      'uci?.icn?.nameOf(section) !== undefined → true',
      'uci?.icn?.nameOf → uci?.icn.nameOf',
      'uci?.icn → uci.icn',
    ],
    why: 'no CR has an empty name, and only kinds come here that ICN has',
  },
  {
    file: 'shared/compile/adoption.ts',
    line: 'const index = Map.groupBy(named,',
    becomes: [
      '\'\' → "Stryker was here!"',
      'uci?.icn?.nameOf → uci?.icn.nameOf',
      'uci?.icn → uci.icn',
    ],
    why: 'only kinds come here that ICN has, and sections with a name',
  },
  {
    file: 'shared/compile/adoption.ts',
    line: 'const isPart = claim.kind.uci?.icn',
    becomes: [
      'claim.kind.uci?.icn?.nameOf → claim.kind.uci?.icn.nameOf',
      'claim.kind.uci?.icn → claim.kind.uci.icn',
    ],
    why: 'only kinds come here that ICN has',
  },
  {
    file: 'shared/compile/candidate.ts',
    line: 'last && last.revision !== revision',
    becomes: ['last.revision !== revision → true'],
    why: 'the same spec is rendered once more',
  },
  {
    file: 'shared/compile/in-use.ts',
    line: 'if (!rules.some(isBeingDeleted)) return kept;',
    becomes: ['!rules.some(isBeingDeleted) → false'],
    why: 'it saves work',
  },
  {
    file: 'shared/compile/left-over.ts',
    line: 'if (candidates.length === 0) return [];',
    becomes: ['candidates.length === 0 → false'],
    why: 'it saves work',
  },
  {
    file: 'shared/compile/left-over.ts',
    line: 'if (!inPackage.some(',
    becomes: ['!inPackage.some(({ uci }) => uci?.icn?.isOnlyIcns) → false', 'uci?.icn → uci.icn'],
    why: 'it saves work, and what is in a package has `uci`',
  },
  {
    file: 'shared/compile/pinned.ts',
    line: 'if (ours.length === 0) return new Set();',
    becomes: ['ours.length === 0 → false'],
    why: 'it saves work',
  },
  {
    file: 'shared/compile/revision.ts',
    line: '? Object.fromEntries(Object.entries(part)',
    becomes: ['a < b → a <= b'],
    why: 'keys of an object differ',
  },
];
