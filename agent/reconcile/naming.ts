/**
 * The beginning of a pass on an OpenWRT that ICN's controller configured: its sections get our
 * names before anything else is written. What may not be named, and what another writer makes anew,
 * is withheld: nothing of these rules is touched.
 */
import type { Takeover } from '#shared/compile/adoption.ts';
import type { Reason } from '#shared/protocol/reasons.ts';
import type { Clock } from '#shared/runtime/clock.ts';
import type { Driver, RenameResult } from '../openwrt/driver.ts';
import { afterWrite, beforeWrite } from './comments.ts';
import type { Ledger, LedgerRecord } from './ledger.ts';
import type { PassState } from './pass-state.ts';
import { recorded, renamesOf } from './takeover.ts';

type NamingDeps = { driver: Driver; ledger: Pick<Ledger, 'record' | 'write'> };
type Renamed = Extract<RenameResult, { outcome: 'done' }>;

/** Two controllers that overwrite each other would reload the firewall without end. */
const FOREIGN_PAUSE_MS = 600_000;

/** Leaves rules alone for a while whose sections are written anew after they were taken over. */
export const createPatience = (
  clock: Pick<Clock, 'monotonic'>,
): ((state: PassState) => PassState) => {
  let since: ReadonlyMap<string, number> = new Map();
  return (state) => {
    const now = clock.monotonic();
    since = new Map([...state.rewritten].map((uid) => [uid, since.get(uid) ?? now]));
    const waiting = [...since].filter(([, seenAt]) => now - seenAt < FOREIGN_PAUSE_MS);
    return withholding(state, new Set(waiting.map(([uid]) => uid)), {
      reason: 'ForeignController',
      message:
        "another controller has replaced the rule's section on OpenWRT; is ICN's controller still running?",
    });
  };
};

/** Before anything else is written: only names may be in that transaction. @throws OpenwrtError */
export const takeOver = async (
  { driver, ledger }: NamingDeps,
  state: PassState,
  signal: AbortSignal,
): Promise<PassState> => {
  const next = await named({ driver, ledger }, state, signal);
  await ledger.write(next.ledger);
  return next;
};

const named = async (
  { driver, ledger }: NamingDeps,
  state: PassState,
  signal: AbortSignal,
): Promise<PassState> => {
  const renames = renamesOf(state.takeovers);
  if (renames.length === 0) return afterTakeover(state, state);
  await ledger.write(beforeTakeover(state));
  const result = await driver.rename(renames, signal);
  return result.outcome === 'done'
    ? afterTakeover(state, result)
    : afterRefusedNames(state, result.message);
};

/** Nothing of these rules is taken over or touched otherwise. */
const withholding = (
  state: PassState,
  uids: ReadonlySet<string>,
  why: { reason: Reason; message: string },
): PassState => ({
  ...state,
  takeovers: state.takeovers.filter(({ uid }) => uid === undefined || !uids.has(uid)),
  withheld: new Map([...state.withheld, ...[...uids].map((uid) => [uid, why] as const)]),
});

/** What the ledger is to say before sections get our names. */
const beforeTakeover = (state: PassState): LedgerRecord => ({
  ...state.ledger,
  ...recorded(state.ledger, state.takeovers, 'begun'),
  comments: beforeWrite(
    state.ledger.comments,
    renamedBy(state.takeovers),
    state.read.commented ?? new Set(),
  ),
});

const afterTakeover = (
  before: PassState,
  {
    observed = new Map(),
    fingerprint,
  }: Pick<Partial<Renamed>, 'observed'> & Pick<PassState, 'fingerprint'>,
): PassState => {
  const ledger = beforeTakeover(before);
  const { takenOver, owned } = recorded(ledger, before.takeovers, 'ours');
  const comments = afterWrite(ledger.comments, renamedBy(before.takeovers));
  return {
    ...before,
    takeovers: [],
    packages: new Map([...before.packages, ...observed]),
    fingerprint,
    ledger: { ...ledger, takenOver, owned, comments },
  };
};

/** Only what needs no name of ours is taken over. */
const afterRefusedNames = (before: PassState, message: string): PassState => {
  const sections = new Set(renamesOf(before.takeovers).map(({ section }) => section));
  const refused = before.takeovers.filter(({ found }) => sections.has(found));
  const takeovers = before.takeovers.filter(({ found }) => !sections.has(found));
  const uids = new Set(refused.flatMap(({ uid }) => (uid === undefined ? [] : [uid])));
  const state = withholding({ ...before, takeovers }, uids, {
    reason: 'AdoptionNeedsRights',
    message,
  });
  return afterTakeover(state, state);
};

const renamedBy = (takeovers: readonly Takeover[]): string[] => [
  ...new Set(renamesOf(takeovers).map((rename) => rename.package)),
];
