/**
 * Passes on an OpenWRT in memory, for unit tests: what it holds, what it is asked for, and how it
 * answers are the test's to say.
 */
import { ASSUMED } from '#shared/resources/capabilities.ts';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { Candidates } from '#shared/compile/candidates.ts';
import { inputOf } from '#shared/compile/testing.ts';
import { revisionOf } from '#shared/compile/revision.ts';
import { kinds } from '#shared/resources/registry.ts';
import type { RuleObject } from '#shared/kube/objects.ts';
import { createManualClock, type ManualClock } from '#shared/runtime/testing/manual-clock.ts';
import { silentLogger } from '#shared/runtime/log.ts';
import { applyDelta } from '#shared/uci/delta.ts';
import type { UciDelta, UciPackage, UciSection } from '#shared/uci/model.ts';
import type { ApplyResult, Driver, ReadResult, UciRename } from '../openwrt/driver.ts';
import { withoutCommitConfirm, type CommitConfirm } from '../commit-confirm/commit-confirm.ts';
import { createKernelDrift } from './kernel-repair.ts';
import type { DriftedSection } from './drift.ts';
import { openLedger, type Ledger, type LedgerRecord } from './ledger.ts';
import { openLastGood } from './last-good.ts';
import { createPace, type Pace } from './pace.ts';
import { createPass, type PassDeps } from './pass.ts';
import { createRefusals } from './refusals.ts';
import { NOTHING_KNOWN, type RuleStates } from './rule-states.ts';
import type { PassInput } from './pass-state.ts';

/** The ledger while the agent has put nothing on its OpenWRT. */
export const NOTHING_RECORDED: LedgerRecord = {
  owned: new Map(),
  takenOver: new Map(),
  unsettled: new Set(),
  ending: [],
  warnings: new Map(),
  comments: { atStake: [], lost: [] },
  lost: 'no',
};

type Done = Extract<ApplyResult, { outcome: 'done' }>;
type Rejected = Extract<ApplyResult, { outcome: 'rejected' }>;
export type Refusal = Omit<Rejected, 'outcome'>;

export type MemoryOpenwrt = {
  packages: Map<string, UciPackage>;
  /** What a read returns besides the packages. */
  reading: Partial<ReadResult>;
  clock: ManualClock;
  mayRename: boolean;
  renames: (readonly UciRename[])[];
  /** Deltas of each transaction, refused ones included. */
  transactions: (readonly UciDelta[])[];
  /** Tunnels that each was to end besides. */
  endings: (readonly string[])[];
  /** Looks at the packages as they would be; a refusal leaves them as they were. */
  refuses: (next: ReadonlyMap<string, UciPackage>) => Refusal | undefined;
  /** What a transaction that succeeded returns. */
  done: Partial<Done>;
  /** Called before a transaction is looked at. */
  onApply: (deltas: readonly UciDelta[]) => void;
  sections: (uciPackage: string) => readonly UciSection[];
};

/** The one of `inputOf`: an administrator's zone `wan`, interfaces of mwan3, and IPsec. */
export const createOpenwrt = (): MemoryOpenwrt => {
  const openwrt: MemoryOpenwrt = {
    packages: new Map(inputOf([]).observed),
    reading: {},
    clock: createManualClock(),
    mayRename: true,
    renames: [],
    transactions: [],
    endings: [],
    refuses: () => undefined,
    done: {},
    onApply: () => undefined,
    sections: (name) => openwrt.packages.get(name)?.sections ?? [],
  };
  return openwrt;
};

export const driverOf = (openwrt: MemoryOpenwrt): Driver => {
  const fingerprint = async (): Promise<string> => JSON.stringify([...openwrt.packages.values()]);
  return {
    name: 'ubus',
    fingerprint,
    read: async () => ({
      packages: new Map(openwrt.packages),
      unusable: new Map(),
      fingerprint: await fingerprint(),
      incarnation: 'one',
      reloadable: new Set(['firewall']),
      capabilities: ASSUMED,
      ...openwrt.reading,
    }),
    rename: async (renames) => {
      openwrt.onApply([]);
      openwrt.renames.push(renames);
      const { mayRename, packages } = openwrt;
      if (!mayRename) return { outcome: 'refused', message: 'no right to' };
      const named = new Map(renames.map(({ section, name }) => [section.name, name]));
      const observed = new Map(
        renames.map((rename): [string, UciPackage] => {
          const { name, sections } = packages.get(rename.package) ?? { name: '', sections: [] };
          const next = sections.map((section) => {
            const given = named.get(section.name);
            return given === undefined ? section : { ...section, name: given, anonymous: false };
          });
          return [rename.package, { name, sections: next }];
        }),
      );
      openwrt.packages = new Map([...packages, ...observed]);
      return { outcome: 'done', observed, fingerprint: await fingerprint() };
    },
    apply: async (deltas, _signal, ending = []) => {
      openwrt.onApply(deltas);
      openwrt.transactions.push(deltas);
      openwrt.endings.push(ending);
      const next = new Map(openwrt.packages);
      for (const delta of deltas) {
        const there = next.get(delta.package) ?? { name: delta.package, sections: [] };
        next.set(delta.package, applyDelta(there, delta));
      }
      const refusal = openwrt.refuses(next);
      if (refusal) return { outcome: 'rejected', ...refusal };
      openwrt.packages = next;
      const names = new Set(deltas.map((delta) => delta.package));
      return {
        outcome: 'done',
        observed: new Map([...next].filter(([name]) => names.has(name))),
        fingerprint: await fingerprint(),
        warnings: new Map(),
        ...openwrt.done,
      };
    },
    information: async () => undefined,
    unansweredSince: () => undefined,
    close: async () => undefined,
  };
};

export type TestAgent = {
  run: (rules: readonly RuleObject[], input?: Partial<PassInput>) => Promise<string>;
  ledger: Ledger;
  /** All that was reported, the latest last. */
  standings: RuleStates[];
  /** Packages of each drift. */
  drifts: (readonly string[])[];
  driftedSections: DriftedSection[];
  outcomes: string[];
  pace: Pace;
};

export const NO_RESTART: PassDeps['restart'] = { due: () => undefined, served: () => undefined };

/** A second one on the same folder is the agent after a restart. */
export const openAgent = async (
  openwrt: MemoryOpenwrt,
  folder: string,
  {
    commitConfirm = withoutCommitConfirm,
    restart = NO_RESTART,
    kept,
  }: Partial<Pick<PassDeps, 'restart'>> & {
    commitConfirm?: CommitConfirm;
    kept?: Candidates;
  } = {},
): Promise<TestAgent> => {
  const ledger = await openLedger(join(folder, 'ledger.json'), silentLogger);
  const standings: RuleStates[] = [];
  const drifts: (readonly string[])[] = [];
  const driftedSections: DriftedSection[] = [];
  const outcomes: string[] = [];
  const pace = createPace(openwrt.clock);
  const pass = createPass(
    {
      driver: driverOf(openwrt),
      commitConfirm,
      kinds,
      ledger,
      lastGood: await openLastGood(join(folder, 'last-good.json'), silentLogger),
      refusals: createRefusals(openwrt.clock, revisionOf),
      kernelDrift: createKernelDrift(openwrt.clock),
      restart,
      pace,
      clock: openwrt.clock,
      onStanding: (standing) => standings.push(standing),
      onDrift: (packages, sections) => {
        drifts.push(packages);
        driftedSections.push(...sections);
      },
      onTransaction: (outcome) => outcomes.push(outcome),
      onKeptWrong: () => outcomes.push('kept wrong'),
    },
    kept,
  );
  const { networks, devices, secrets = new Map() } = inputOf([]);
  const usual = { networks, secrets, unservedKinds: [], paused: false, quiet: false };
  const known = { defaultRoute: undefined, byAddress: new Map(), ...devices };
  return {
    run: (rules, input = {}) =>
      pass({ rules, ...usual, devices: known, ...input }, new AbortController().signal),
    ledger,
    standings,
    drifts,
    driftedSections,
    outcomes,
    pace,
  };
};

/** The last standing: `verdict reason` by name of the rule. */
export const statesOf = ({ standings }: TestAgent): Record<string, string> =>
  Object.fromEntries(
    (standings.at(-1) ?? NOTHING_KNOWN).verdicts.map(({ rule, verdict, reason }) => [
      rule.metadata.name,
      `${verdict} ${reason}`,
    ]),
  );

/** A folder for state files that goes with `using`. */
export const stateFolder = (): { path: string } & Disposable => {
  const path = mkdtempSync(join(tmpdir(), 'sdewan-reconcile-'));
  return { path, [Symbol.dispose]: () => rmSync(path, { recursive: true }) };
};
