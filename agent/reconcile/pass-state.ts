/**
 * A pass under way, as a value: what is known of OpenWRT, and what the ledger has to record. A pass
 * is a fold over it: `afterRead`, then `afterApplied` or `afterRejected` for each write, until the
 * plan that follows from it is empty. Pure.
 */
import type { Takeover } from '#shared/compile/adoption.ts';
import type { Candidates } from '#shared/compile/candidates.ts';
import { stampedIn } from '#shared/compile/stamp.ts';
import { ledgerKey } from '#shared/compile/ownership.ts';
import type { CompileInput, DeviceTable, LastGood, PodNetworks } from '#shared/compile/types.ts';
import { inDialect } from '#shared/resources/dialect.ts';
import type { CnfPlace, KindDefinition } from '#shared/resources/kind.ts';
import type { RuleObject } from '#shared/kube/objects.ts';
import { isEmptyDelta } from '#shared/uci/delta.ts';
import type { UciPackage } from '#shared/uci/model.ts';
import type {
  ApplyResult,
  BySection,
  Fingerprint,
  KernelLook,
  ReadResult,
} from '../openwrt/driver.ts';
import { endingBy } from '../openwrt/services/ipsec-tunnels.ts';
import type { Authors } from './section-rules.ts';
import { afterReading, afterWrite, beforeWrite } from './comments.ts';
import { afterLoss, begun, settled, type LedgerRecord, type Settlement } from './ledger.ts';
import { isOursIn, type Ownership } from './ownership.ts';
import { makePlan, namesForLedger, type Plan } from './plan.ts';
import { standingOf, type RuleStates } from './rule-states.ts';
import { afterChanges, inPlace, lookFor, lookIn, packageOf } from './takeover.ts';

export type PassInput = PodNetworks & {
  rules: readonly RuleObject[];
  devices: DeviceTable;
  place?: CnfPlace | undefined;
  /** By `secretKey(name, key)`. */
  secrets: ReadonlyMap<string, string>;
  unreadSecrets?: CompileInput['unreadSecrets'];
  /** Kinds that the API server does not serve. */
  unservedKinds: readonly string[];
  /** Nothing may be written to OpenWRT. */
  paused: boolean;
  /** It runs without cause: nothing waits for it. */
  quiet: boolean;
};

export type PassState = {
  input: PassInput;
  /** In the dialect of what was read. */
  kinds: readonly KindDefinition[];
  /** As read at the beginning; what writes have changed since stands beside it. */
  read: ReadResult;
  packages: ReadonlyMap<string, UciPackage>;
  /** What is to be taken over from ICN's controller before anything else. */
  takeovers: readonly Takeover[];
  /** Uids of rules whose sections were taken over, and were written anew by others since. */
  rewritten: ReadonlySet<string>;
  withheld: NonNullable<CompileInput['withheld']>;
  fingerprint: Fingerprint;
  doubtful: ReadonlySet<string>;
  kernel: KernelLook | undefined;
  /** `package.section` of what OpenWRT does not remove. */
  stuck: ReadonlySet<string>;
  ledger: LedgerRecord;
  /** Nothing waits for what is written next; so for the first write at most. */
  quiet: boolean;
};

export type Done = Extract<ApplyResult, { outcome: 'done' }>;
export type Rejected = Extract<ApplyResult, { outcome: 'rejected' }>;

export const afterRead = (
  kinds: readonly KindDefinition[],
  input: PassInput,
  read: ReadResult,
  ledger: LedgerRecord,
): PassState => {
  const { packages, fingerprint, doubtful = new Set(), commented = new Set() } = read;
  const inKinds = inDialect(kinds, read.capabilities.dialect);
  const owned = new Map([...stampedIn(packages, inKinds), ...ledger.owned]);
  const record = { ...afterLoss(ledger, packages.keys()), owned };
  const { rules } = input;
  const namesLast = read.capabilities.dialect === 'uci';
  const found = lookFor({ observed: packages, rules, kinds: inKinds, namesLast }, record);
  const { takenOver, takeovers, rewritten } = found;
  const comments = afterReading(record.comments, packages, commented);
  return {
    input,
    kinds: inKinds,
    read,
    packages,
    takeovers,
    rewritten,
    withheld: new Map(),
    fingerprint,
    doubtful,
    kernel: read.kernel,
    stuck: new Set(),
    ledger: { ...record, takenOver, comments },
    quiet: input.quiet,
  };
};

/** What the ledger has to record before the plan is applied. */
export const beforeApply = (state: PassState, plan: Plan): LedgerRecord =>
  begun(state.ledger, {
    names: namesForLedger(plan, state.kinds),
    packages: touchedBy(plan),
    ending: endingBy(
      plan.deltas.find((delta) => delta.package === 'ipsec'),
      state.packages.get('ipsec')?.sections ?? [],
    ),
    comments: beforeWrite(
      state.ledger.comments,
      writtenBy(plan),
      state.read.commented ?? new Set(),
    ),
  });

/** `plan`: what was applied. */
export const afterApplied = (before: PassState, plan: Plan, result: Done): PassState => {
  const ledger = beforeApply(before, plan);
  const ending = result.tunnelsEnded ? [] : ledger.ending;
  const state = {
    ...before,
    ledger: { ...ledger, ending, takenOver: afterChanges(ledger.takenOver, plan) },
    packages: new Map([...before.packages, ...result.observed]),
    fingerprint: result.fingerprint,
    doubtful: untouchedOf(before.doubtful, plan),
    kernel: result.kernel ?? before.kernel,
    stuck: new Set([...before.stuck, ...keysOf(result.stuck)]),
    quiet: false,
  };
  return withSettlement(state, plan, {
    packages: touchedBy(plan),
    warnings: result.warnings,
    comments: afterWrite(ledger.comments, writtenBy(plan)),
  });
};

/** `plan`: what was tried. */
export const afterRejected = (before: PassState, plan: Plan, { partly }: Rejected): PassState => {
  const ledger = beforeApply(before, plan);
  const doubts = new Set([...ledger.unsettled, ...(partly?.unsettled ?? [])]);
  const { ending } = before.ledger;
  const state = { ...before, ledger: { ...ledger, ending, unsettled: doubts }, quiet: false };
  const now = partly
    ? {
        ...state,
        packages: new Map([...before.packages, ...partly.observed]),
        fingerprint: partly.fingerprint,
        doubtful: untouchedOf(before.doubtful, plan),
      }
    : state;
  // Where the driver has put everything back, it cannot have settled what was unsettled before.
  const unsettled = partly?.unsettled ?? before.ledger.unsettled;
  return withSettlement(now, plan, {
    packages: touchedBy(plan).filter((name) => !unsettled.has(name)),
    warnings: new Map(),
    comments: ledger.comments,
  });
};

/** What is outside of OpenWRT and rules: specs of earlier passes, and by uid what is left out. */
export type Circumstances = {
  lastGood: LastGood;
  refused: CompileInput['refused'];
};

/** `candidates`: those of the plan before. */
export const planOf = (
  state: PassState,
  circumstances: Circumstances,
  candidates?: Candidates,
): Plan =>
  makePlan(
    {
      ...state.input,
      ...circumstances,
      capabilities: state.read.capabilities,
      withheld: state.withheld,
      unusable: state.read.unusable,
      observed: state.packages,
      takenOver: inPlace(state.ledger.takenOver),
      ownership: ownershipIn(state),
      unsettled: new Set([...state.ledger.unsettled, ...state.doubtful]),
      stuck: state.stuck,
      quiet: state.quiet,
    },
    candidates,
  );

export const standingIn = (
  state: PassState,
  plan: Plan,
  authors: Pick<Authors, 'of' | 'leaving' | 'wasRemoved'>,
): RuleStates => {
  const incomparable = oursIn(state, state.kernel?.incomparable);
  return standingOf({
    rules: state.input.rules,
    paused: state.input.paused,
    plan,
    observed: state.packages,
    unusable: state.read.unusable,
    ownership: ownershipIn(state),
    unsettled: state.ledger.unsettled,
    ending: state.ledger.ending,
    isLedgerLost: state.ledger.lost !== 'no',
    untaken: new Set(state.takeovers.map((takeover) => takeover.package)),
    lacking: lackingIn(state),
    incomparable,
    unreadOthers: unreadOthersIn(state.kernel, incomparable),
    authors,
    kernelUnread: state.kernel === undefined ? NO_LOOK : state.kernel.unread,
    warned: state.ledger.warnings,
  });
};

const NO_LOOK = 'the API of this OpenWRT does not show it';

/** `package.section` of ours -> what of it the kernel lacks. */
export const lackingIn = (state: PassState): ReadonlyMap<string, string> =>
  oursIn(state, state.kernel?.lacking);

const oursIn = (state: PassState, found: BySection = new Map()): ReadonlyMap<string, string> => {
  const ownership = ownershipIn(state);
  return new Map(
    [...found].flatMap(([name, sections]) => {
      const isOurs = isOursIn(name, ownership);
      const ours = (state.packages.get(name)?.sections ?? []).filter(isOurs);
      return ours.flatMap((section): [string, string][] => {
        const what = sections.get(section.name);
        return what === undefined ? [] : [[ledgerKey(name, section.name), what]];
      });
    }),
  );
};

/** Without packages of which that may be over at the next look. `ours`: by `package.section`. */
const unreadOthersIn = (
  kernel: KernelLook | undefined,
  ours: ReadonlyMap<string, string>,
): BySection =>
  new Map(
    [...(kernel?.incomparable ?? [])].flatMap(([name, why]) => {
      const others = [...why].filter(([section]) => !ours.has(ledgerKey(name, section)));
      const isPassing = kernel?.passing?.has(name);
      return others.length === 0 || isPassing ? [] : [[name, new Map(others)] as const];
    }),
  );

const ownershipIn = ({ kinds, ledger, input }: PassState): Ownership => ({
  kinds,
  ledger: ledger.owned,
  unserved: input.unservedKinds,
});

const withSettlement = (
  state: PassState,
  plan: Plan,
  seen: Pick<Settlement, 'packages' | 'warnings' | 'comments'>,
): PassState => {
  const { ledger, packages, kinds } = state;
  const isThere = lookIn(packages);
  const owned = new Map([
    // What cannot be read may still be there.
    ...[...ledger.owned].filter(([key]) => isThere(key) || !packages.has(packageOf(key))),
    ...namesForLedger(plan, kinds),
  ]);
  return { ...state, ledger: settled(ledger, { ...seen, owned, takenOver: ledger.takenOver }) };
};

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
