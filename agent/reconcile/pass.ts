/**
 * One pass: reads OpenWRT, brings it to what the rules ask for, and reports the state of each rule.
 * Level-triggered: nothing of an earlier pass is trusted but the ledger, the last good specs and
 * the refusals. What rules compile to is kept, since most are as before; now and then a plan is
 * compared with one of all rules anew.
 */
import { isDeepStrictEqual } from 'node:util';
import { createCandidates, type Candidates } from '#shared/compile/candidates.ts';
import type { LastGood } from '#shared/compile/types.ts';
import { revisionOf } from '#shared/compile/revision.ts';
import type { Clock } from '#shared/runtime/clock.ts';
import type { KindDefinition } from '#shared/resources/kind.ts';
import {
  OpenwrtBlockedError,
  OpenwrtPackageRefusedError,
  type ApplyResult,
  type Driver,
  type Fingerprint,
  type ReadResult,
} from '../openwrt/driver.ts';
import { createAuthors, type Authors } from './section-rules.ts';
import { blame, blameFound, refuseWarned } from './blame.ts';
import { changesIn } from '../commit-confirm/changes.ts';
import type { CommitConfirm } from '../commit-confirm/commit-confirm.ts';
import type { View } from '../commit-confirm/view.ts';
import type { Restart } from '../inputs/restart.ts';
import { driftOf, type DriftedSection, type Reached } from './drift.ts';
import type { KernelDrift } from './kernel-repair.ts';
import type { LastGoodStore } from './last-good.ts';
import { createPatience, takeOver } from './naming.ts';
import type { Ledger } from './ledger.ts';
import type { Pace } from './pace.ts';
import {
  afterApplied,
  afterRead,
  afterRejected,
  beforeApply,
  planOf,
  standingIn,
  type PassInput,
  type PassState,
} from './pass-state.ts';
import type { Plan } from './plan.ts';
import { createReadBacks, type ReadBacks } from './read-back.ts';
import type { Refusals, Refused } from './refusals.ts';
import { createSearch, type Search } from './halving.ts';
import { isInForce, type RuleStates } from './rule-states.ts';

export type PassDeps = {
  kinds: readonly KindDefinition[];
  ledger: Pick<Ledger, 'record' | 'write'>;
  lastGood: LastGoodStore;
  refusals: Refusals;
  kernelDrift: KernelDrift;
  restart: Pick<Restart, 'due' | 'served'>;
  pace: Pick<Pace, 'applied'>;
  driver: Driver;
  commitConfirm: Pick<CommitConfirm, 'view' | 'begin' | 'written' | 'passed'>;
  clock: Pick<Clock, 'monotonic'>;
  /** Called before the first write and at the end; what it says of a rule may be sent at once. */
  onStanding: (standing: RuleStates) => void;
  /** A difference in these packages that no change of the rules explains. */
  onDrift: (packages: readonly string[], sections: readonly DriftedSection[]) => void;
  onTransaction: (outcome: ApplyResult['outcome']) => void;
  /** What was kept led elsewhere than all rules anew: nothing is kept from now on. */
  onKeptWrong: () => void;
};

/** Gives the fingerprint of what it left. @throws OpenwrtError; the next pass finds the state. */
export type Pass = (input: PassInput, signal: AbortSignal) => Promise<Fingerprint>;

/** A search that takes longer goes on in the next pass, so that other changes get their turn. */
const MAX_TRIES = 40;

/** Between two comparisons with all rules anew; after drift and failures at once. */
const WHOLE_AFTER_MS = 300_000;

/** `kept`: what rules compile to, from one pass to the next. */
export const createPass = (deps: PassDeps, kept: Candidates = createCandidates()): Pass => {
  const { driver, ledger, lastGood, refusals, kernelDrift, restart } = deps;
  /** What each package was brought to by this process, and on which OpenWRT. */
  let reached: Reached = { sections: new Map(), incarnation: '' };
  const patience = createPatience(deps.clock);
  const authors = createAuthors();
  let candidates: Candidates | undefined = kept;
  let wholeAt = deps.clock.monotonic() + WHOLE_AFTER_MS;
  const firstPlan = (within: Within, state: PassState): Plan => {
    const plan = planNow(within, state);
    const now = deps.clock.monotonic();
    if (candidates === undefined || now < wholeAt) return plan;
    wholeAt = now + WHOLE_AFTER_MS;
    const whole = planNow({ ...within, candidates: () => undefined }, state);
    if (isDeepStrictEqual(plan, whole)) return plan;
    candidates = undefined;
    deps.onKeptWrong();
    return whole;
  };
  const tell = (standing: RuleStates): void => {
    authors.settle(standing.removed);
    deps.onStanding(standing);
  };

  const once = async (
    input: PassInput,
    refused: ReadonlyMap<string, string>,
    signal: AbortSignal,
  ): Promise<Fingerprint> => {
    const view = deps.commitConfirm.view(input.rules, lastGood.current());
    const within = { ...deps, authors, candidates: () => candidates, view };
    const seen = { ...input, rules: view.rules };
    const read = without(await driver.read(signal), refused);
    refusals.review(view.rules, read.incarnation);
    const found = afterRead(deps.kinds, seen, read, ledger.record());
    if (input.paused) {
      tell(standingIn(found, planNow(within, found), authors));
      return found.fingerprint;
    }
    const looked = kernelDrift.found(patience(found));
    const restarted = restart.due();
    const anew = restarted ? loadedAnew(looked.state, restarted.service) : looked.state;
    const state = await takeOver(deps, anew, signal);
    const plan = firstPlan(within, state);
    const drift = driftOf({ plan, state, reached, inKernel: looked.drifted });
    if (drift.packages.length > 0) {
      wholeAt = 0;
      deps.onDrift(drift.packages, drift.sections);
    }
    if (plan.deltas.length > 0) tell(standingIn(state, plan, authors));

    const end = await bringAbout(within, { state, plan }, signal);

    const standing = standingIn(end.state, end.plan, authors);
    await lastGood.replace(nextLastGood(view.lastGood(lastGood.current()), standing));
    reached = { sections: end.plan.desired, incarnation: read.incarnation };
    kernelDrift.left(standing);
    tell(standing);
    deps.commitConfirm.passed(view);
    if (restarted) restart.served(restarted, canRestart(end.state, restarted.service));
    return end.state.fingerprint;
  };

  return async (input, signal) => {
    const refused = new Map<string, string>();
    for (;;) {
      try {
        return await once(input, refused, signal);
      } catch (error) {
        wholeAt = 0;
        if (!(error instanceof OpenwrtPackageRefusedError) || refused.has(error.package))
          throw error;
        refused.set(error.package, error.why);
      }
    }
  };
};

/** A package that OpenWRT refuses keeps the others waiting no more than one that does not parse. */
const without = (read: ReadResult, refused: ReadonlyMap<string, string>): ReadResult => ({
  ...read,
  packages: new Map([...read.packages].filter(([name]) => !refused.has(name))),
  unusable: new Map([...read.unusable, ...refused]),
});

/**
 * A service is restarted by what reloads it: firewall4 loads all rules of its table anew at once,
 * while a stop would let all packets pass until the start.
 */
const loadedAnew = (state: PassState, service: string): PassState =>
  canRestart(state, service)
    ? { ...state, doubtful: new Set([...state.doubtful, service]) }
    : state;

const canRestart = ({ packages, read }: PassState, service: string): boolean =>
  packages.has(service) && read.reloadable?.has(service) === true;

type Look = { state: PassState; plan: Plan };
type Within = PassDeps & {
  authors: Authors;
  candidates: () => Candidates | undefined;
  view: View;
};

const planNow = (
  { lastGood, refusals, authors, candidates, view }: Within,
  state: PassState,
  search?: Search,
): Plan => {
  const leftOut = new Set(search?.leftOut());
  const suspects = state.input.rules
    .filter(({ metadata }) => leftOut.has(metadata.uid))
    .map((rule): [string, Refused] => [
      rule.metadata.uid,
      {
        revision: revisionOf(rule),
        message:
          'OpenWRT refuses these rules together; the agent is searching for the one that it refuses',
      },
    ]);
  const refused = new Map([...suspects, ...refusals.current(), ...view.refused]);
  const circumstances = { lastGood: view.lastGood(lastGood.current()), refused };
  const plan = planOf(state, circumstances, candidates());
  authors.note(plan.verdicts);
  return plan;
};

const bringAbout = async (deps: Within, first: Look, signal: AbortSignal): Promise<Look> => {
  const search = createSearch();
  const readBacks = createReadBacks();
  let { state, plan } = first;
  for (let tries = 1; ; tries += 1) {
    // The last good spec of a rule may be as bad.
    while (await blameFound(deps, { search, plan }, state.kernel))
      plan = planNow(deps, state, search);
    if (plan.deltas.length === 0) {
      if (!search.accepted()) return { state, plan };
    } else {
      if (tries > MAX_TRIES) {
        throw new OpenwrtBlockedError(
          'find the rules that OpenWRT refuses',
          'the search continues with the next pass',
        );
      }
      state = await carryOut(deps, { state, plan }, { search, readBacks }, signal);
    }
    plan = planNow(deps, state, search);
  }
};

/** One write, with what ledger and way back record around it, and what is reported of the rules. */
const carryOut = async (
  deps: Within,
  { state, plan }: Look,
  { search, readBacks }: { search: Search; readBacks: ReadBacks },
  signal: AbortSignal,
): Promise<PassState> => {
  const { clock, driver, ledger, commitConfirm, lastGood, pace, view } = deps;
  const { deltas, verdicts } = plan;
  const changes = changesIn(verdicts, view.lastGood(lastGood.current()), state.kinds);
  const write = async (): Promise<ApplyResult> => {
    const record = beforeApply(state, plan);
    await ledger.write(record);
    await commitConfirm.begin({ changes, deltas, packages: state.packages }, signal);
    const begun = clock.monotonic();
    const result = await driver.apply(deltas, signal, record.ending);
    pace.applied(clock.monotonic() - begun);
    return result;
  };
  const result = await write().finally(commitConfirm.written);
  const isDone = result.outcome === 'done';
  const next = isDone ? afterApplied(state, plan, result) : afterRejected(state, plan, result);
  await ledger.write(next.ledger);
  deps.onTransaction(result.outcome);
  if (isDone) {
    refuseWarned(deps, standingIn(next, plan, deps.authors));
    return next;
  }
  const toBlame = readBacks.toBlame(result);
  if (toBlame !== undefined) await blame(deps, { search, plan }, toBlame);
  return next;
};

/** What is in force now, and for rules whose newest version is not, what was before. */
const nextLastGood = (current: LastGood, standing: RuleStates): LastGood => {
  const next = new Map<string, { spec: unknown; generation: number; revision: string }>();
  for (const verdict of standing.verdicts) {
    const { rule, revision } = verdict;
    const { uid, generation = 0 } = rule.metadata;
    const before = current.get(uid);
    if (verdict.verdict === 'wanted' && isInForce(standing, verdict)) {
      const isSame = before?.revision === revision && before.generation === generation;
      next.set(uid, isSame ? before : { spec: rule.spec, generation, revision });
    } else if (verdict.verdict !== 'unwanted' && before !== undefined) {
      next.set(uid, before);
    }
  }
  return next;
};
