/**
 * One pass: reads OpenWRT, brings it to what the rules ask for, and says what came of each rule. Level-triggered: nothing
 * of an earlier pass is trusted but the ledger, the last good specs and the refusals.
 */
import type { LastGood } from '#shared/compile/types.ts';
import { sectionsEqual } from '#shared/uci/delta.ts';
import type { UciSection } from '#shared/uci/model.ts';
import {
  OpenwrtBlockedError,
  type ApplyResult,
  type Driver,
  type Fingerprint,
} from '../device/driver.ts';
import { blame, refuseWarned } from './blame.ts';
import { isHeld, type Standing } from './standing.ts';
import { beginWork, type PassInput, type Work, type WorkDeps } from './work.ts';

export type PassDeps = WorkDeps & {
  driver: Driver;
  /** Told before the first write and at the end; what it says of a rule may be sent at once. */
  onStanding: (standing: Standing) => void;
  /** A difference in these packages that no change of the rules explains. */
  onDrift: (packages: readonly string[]) => void;
  onTransaction: (outcome: ApplyResult['outcome']) => void;
};

/** The pass gives the fingerprint of what it left. @throws OpenwrtError; then the next pass finds out what is there. */
export type Pass = (input: PassInput, signal: AbortSignal) => Promise<Fingerprint>;

/** A search that takes longer goes on in the next pass, so that other changes get their turn. */
const MAX_TRIES = 40;

export const createPass = (deps: PassDeps): Pass => {
  const { driver, lastGood, refusals } = deps;
  /** What each package was brought to by this process. */
  let reached: ReadonlyMap<string, readonly UciSection[]> = new Map();

  return async (input, signal) => {
    const read = await driver.read(signal);
    refusals.review(input.rules, read.incarnation);
    const work = beginWork(deps, input, read);
    await work.takeOver();
    const drifted = driftIn(work, reached);
    if (drifted.length > 0) deps.onDrift(drifted);
    if (work.plan().deltas.length > 0) deps.onStanding(work.standing());

    await bringAbout(deps, work, signal);

    const standing = work.standing();
    await lastGood.replace(nextLastGood(lastGood.current(), standing));
    reached = work.plan().desired;
    deps.onStanding(standing);
    return work.fingerprint();
  };
};

const bringAbout = async (deps: PassDeps, work: Work, signal: AbortSignal): Promise<void> => {
  for (let tries = 1; ; tries += 1) {
    const { deltas } = work.plan();
    if (deltas.length === 0) {
      if (!work.search.accepted()) return;
    } else {
      if (tries > MAX_TRIES) {
        throw new OpenwrtBlockedError('find the refused rules', 'not all found yet');
      }
      const result = await work.apply(deps.driver, signal);
      deps.onTransaction(result.outcome);
      if (result.outcome === 'done') refuseWarned(deps, work);
      else await blame(deps, work, result);
    }
    work.replan();
  }
};

const driftIn = (
  work: Work,
  reached: ReadonlyMap<string, readonly UciSection[]>,
): readonly string[] => {
  const { differing, desired } = work.plan();
  return [...differing].filter((name) => areSame(reached.get(name), desired.get(name)));
};

const areSame = (
  before: readonly UciSection[] | undefined,
  after: readonly UciSection[] | undefined,
): boolean =>
  before !== undefined &&
  before.length === after?.length &&
  before.every((section, at) => {
    const other = after[at];
    return other !== undefined && sectionsEqual(section, other);
  });

/** What is in force now, and for rules whose newest version is not, what was before. */
const nextLastGood = (current: LastGood, standing: Standing): LastGood => {
  const next = new Map<string, { spec: unknown; generation: number; revision: string }>();
  for (const verdict of standing.verdicts) {
    const { rule, revision } = verdict;
    const { uid, generation = 0 } = rule.metadata;
    const before = current.get(uid);
    if (verdict.verdict === 'wanted' && isHeld(standing, verdict)) {
      next.set(uid, { spec: rule.spec, generation, revision });
    } else if (verdict.verdict !== 'unwanted' && before !== undefined) {
      next.set(uid, before);
    }
  }
  return next;
};
