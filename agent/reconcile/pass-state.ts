/**
 * A pass under way, as a value: what is known of OpenWRT, and what the ledger is to say. A pass is a fold over it: `afterRead`, then
 * `afterApplied` or `afterRejected` for each write, until the plan that follows from it is empty. Pure.
 */
import { adopt, type Adoption } from '#shared/compile/adoption.ts';
import { ledgerKey } from '#shared/compile/ownership.ts';
import type { DeviceTable, LastGood, NetworkTable } from '#shared/compile/types.ts';
import { inDialect } from '#shared/resources/dialect.ts';
import type { KindDefinition } from '#shared/resources/kind.ts';
import type { RuleObject } from '#shared/kube/objects.ts';
import { isEmptyDelta } from '#shared/uci/delta.ts';
import type { UciPackage } from '#shared/uci/model.ts';
import type { ApplyResult, Fingerprint, ReadResult } from '../device/driver.ts';
import { kindsOf, leavingIn, warningsByOurNames, without } from './adopted.ts';
import { afterReading, afterWrite, beforeWrite } from './comments.ts';
import { begun, settled, type LedgerRecord, type Settlement } from './ledger.ts';
import type { Ownership } from './ownership.ts';
import { makePlan, namesForLedger, type Plan } from './plan.ts';
import { standingOf, type Standing } from './standing.ts';

export type PassInput = {
  rules: readonly RuleObject[];
  networks: NetworkTable;
  devices: DeviceTable;
  /** By `secretKey(name, key)`. */
  secrets: ReadonlyMap<string, string>;
  /** Kinds that the API server does not serve. */
  unservedKinds: readonly string[];
};

export type PassState = {
  input: PassInput;
  /** In the dialect of what was read. */
  kinds: readonly KindDefinition[];
  /** As read at the beginning; what writes have changed since stands beside it. */
  read: ReadResult;
  packages: ReadonlyMap<string, UciPackage>;
  adoption: Adoption;
  fingerprint: Fingerprint;
  doubtful: ReadonlySet<string>;
  /** `package.section` of what OpenWRT does not let go. */
  stuck: ReadonlySet<string>;
  ledger: LedgerRecord;
};

export type Done = Extract<ApplyResult, { outcome: 'done' }>;
export type Rejected = Extract<ApplyResult, { outcome: 'rejected' }>;

export const afterRead = (
  kinds: readonly KindDefinition[],
  input: PassInput,
  read: ReadResult,
  record: LedgerRecord,
): PassState => {
  const { packages, fingerprint, doubtful = new Set(), commented = new Set() } = read;
  const uids = new Set(input.rules.map(({ metadata }) => metadata.uid));
  const released = new Set([...record.released].filter((uid) => uids.has(uid)));
  const known = { ...record, released };
  const base = { input, kinds: inDialect(kinds, read.capabilities.dialect), packages };
  const adoption = adoptionIn({ ...base, ledger: known }, record.adopted);
  const found = {
    ...known,
    owned: new Map([...record.owned, ...kindsOf(adoption)]),
    comments: afterReading(record.comments, packages, commented),
  };
  const state = { ...base, read, adoption, fingerprint, doubtful, stuck: new Set<string>() };
  return { ...state, ledger: { ...found, adopted: adoptedIn({ ...state, ledger: found }) } };
};

/** What the ledger is to say before the plan is carried out. */
export const beforeApply = (state: PassState, plan: Plan): LedgerRecord =>
  begun(state.ledger, {
    names: namesForLedger(plan, state.kinds),
    packages: touchedBy(plan),
    comments: beforeWrite(
      state.ledger.comments,
      writtenBy(plan),
      state.read.commented ?? new Set(),
    ),
  });

/** `plan`: what was carried out. */
export const afterApplied = (before: PassState, plan: Plan, result: Done): PassState => {
  const ledger = beforeApply(before, plan);
  const released = new Set([...ledger.released, ...leavingIn(plan, before.adoption)]);
  const state = settledOn(
    {
      ...before,
      ledger: { ...ledger, released },
      fingerprint: result.fingerprint,
      doubtful: untouchedOf(before.doubtful, plan),
      stuck: new Set([...before.stuck, ...keysOf(result.stuck)]),
    },
    plan,
    result.observed,
  );
  return withSettlement(state, plan, {
    packages: touchedBy(plan),
    warnings: warningsByOurNames(result, state.adoption),
    comments: afterWrite(ledger.comments, writtenBy(plan)),
  });
};

/** `plan`: what was tried. */
export const afterRejected = (before: PassState, plan: Plan, { partly }: Rejected): PassState => {
  const ledger = beforeApply(before, plan);
  const doubts = {
    ...ledger,
    unsettled: new Set([...ledger.unsettled, ...(partly?.unsettled ?? [])]),
  };
  const state = { ...before, ledger: doubts };
  const now = partly
    ? settledOn(
        {
          ...state,
          fingerprint: partly.fingerprint,
          doubtful: untouchedOf(before.doubtful, plan),
        },
        plan,
        partly.observed,
      )
    : state;
  // Where the driver has put everything back, it cannot have settled what was unsettled before.
  const unsettled = partly?.unsettled ?? before.ledger.unsettled;
  return withSettlement(now, plan, {
    packages: touchedBy(plan).filter((name) => !unsettled.has(name)),
    warnings: new Map(),
    comments: ledger.comments,
  });
};

/** What stands outside of OpenWRT and the rules: specs of earlier passes, and by uid what is left out of this one. */
export type Circumstances = {
  lastGood: LastGood;
  refused: ReadonlyMap<string, { revision: string; message: string }>;
};

export const planOf = (state: PassState, circumstances: Circumstances): Plan =>
  makePlan({
    ...state.input,
    ...circumstances,
    capabilities: state.read.capabilities,
    adoption: state.adoption,
    ownership: ownershipIn(state),
    unsettled: new Set([...state.ledger.unsettled, ...state.doubtful]),
    stuck: state.stuck,
  });

export const standingIn = (state: PassState, plan: Plan): Standing =>
  standingOf({
    rules: state.input.rules,
    plan,
    observed: state.adoption.packages,
    unusable: state.read.unusable,
    ownership: ownershipIn(state),
    unsettled: state.ledger.unsettled,
    warningOf: (name, section) => state.ledger.warnings.get(name)?.get(section),
  });

const ownershipIn = ({ kinds, ledger, input }: PassState): Ownership => ({
  kinds,
  ledger: ledger.owned,
  unserved: input.unservedKinds,
});

const adoptionIn = (
  { input, kinds, packages, ledger }: Pick<PassState, 'input' | 'kinds' | 'packages' | 'ledger'>,
  before: ReadonlySet<string>,
): Adoption => {
  const { owned, released } = ledger;
  return adopt({ observed: packages, rules: input.rules, kinds, ledger: owned, before, released });
};

/** With what was read back. */
const settledOn = (
  state: PassState,
  plan: Plan,
  observed: ReadonlyMap<string, UciPackage>,
): PassState => {
  const next = { ...state, packages: new Map([...state.packages, ...observed]) };
  return { ...next, adoption: adoptionIn(next, without(state.ledger.adopted, plan.deltas)) };
};

const withSettlement = (
  state: PassState,
  plan: Plan,
  seen: Pick<Settlement, 'packages' | 'warnings' | 'comments'>,
): PassState => {
  const { ledger, adoption, kinds } = state;
  const owned = new Map([
    ...[...ledger.owned].filter(([key]) => isPresent(adoption.packages, key)),
    ...namesForLedger(plan, kinds),
  ]);
  const { released } = ledger;
  const settlement = { ...seen, owned, released, adopted: adoptedIn(state) };
  return { ...state, ledger: settled(ledger, settlement) };
};

/** Also what was adopted in packages that cannot be read now. */
const adoptedIn = ({
  adoption,
  packages,
  ledger,
}: Pick<PassState, 'adoption' | 'packages' | 'ledger'>): ReadonlySet<string> =>
  new Set([
    ...[...ledger.adopted].filter((key) => !packages.has(packageOf(key))),
    ...adoption.adopted.keys(),
  ]);

const touchedBy = ({ deltas }: Plan): string[] => deltas.map((delta) => delta.package);

/** One that is only reloaded is not written. */
const writtenBy = ({ deltas }: Plan): string[] =>
  deltas.filter((delta) => !isEmptyDelta(delta)).map((delta) => delta.package);

const untouchedOf = (packages: ReadonlySet<string>, plan: Plan): ReadonlySet<string> => {
  const touched = touchedBy(plan);
  return new Set([...packages].filter((name) => !touched.includes(name)));
};

const keysOf = (sections: ReadonlyMap<string, ReadonlySet<string>> = new Map()): string[] =>
  [...sections].flatMap(([name, names]) => [...names].map((each) => ledgerKey(name, each)));

/** What cannot be read may still be there. */
const isPresent = (observed: ReadonlyMap<string, UciPackage>, key: string): boolean => {
  const there = observed.get(packageOf(key));
  if (there === undefined) return true;
  return there.sections.some(({ name }) => ledgerKey(there.name, name) === key);
};

const packageOf = (key: string): string => key.slice(0, key.indexOf('.'));
