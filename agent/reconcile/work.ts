/** A pass under way: what OpenWRT holds as far as it is known, and what follows from that for every rule. */
import { ledgerKey } from '#shared/compile/ownership.ts';
import { revisionOf } from '#shared/compile/revision.ts';
import type { DeviceTable, NetworkTable } from '#shared/compile/types.ts';
import type { KindDefinition } from '#shared/kinds/kind.ts';
import type { RuleObject } from '#shared/kube/objects.ts';
import type { UciPackage } from '#shared/uci/model.ts';
import type { ApplyResult, Fingerprint, ReadResult } from '../openwrt/driver.ts';
import type { Ledger } from '../openwrt/ledger.ts';
import type { LastGoodStore } from './last-good.ts';
import type { Ownership } from './ownership.ts';
import { makePlan, namesForLedger, type Plan } from './plan.ts';
import type { Refusals } from './refusals.ts';
import { createSearch, type Search } from './search.ts';
import { standingOf, type Standing } from './standing.ts';

export type PassInput = {
  rules: readonly RuleObject[];
  networks: NetworkTable;
  devices: DeviceTable;
  /** Kinds that the API server does not serve. */
  unservedKinds: readonly string[];
};

export type WorkDeps = {
  kinds: readonly KindDefinition[];
  ledger: Ledger;
  lastGood: LastGoodStore;
  refusals: Refusals;
};

export type Work = {
  plan: () => Plan;
  /** Makes the plan anew, after the refusals or the search have changed. */
  replan: () => void;
  standing: () => Standing;
  fingerprint: () => Fingerprint;
  search: Search;
  /** Records what may be written from here on. */
  begin: () => Promise<void>;
  /** Takes in what a transaction came to, and makes the plan anew. */
  absorb: (result: ApplyResult) => Promise<void>;
};

export const beginWork = (deps: WorkDeps, input: PassInput, read: ReadResult): Work => {
  const { kinds, ledger, lastGood, refusals } = deps;
  const search = createSearch();
  let observed = read.packages;
  let { fingerprint } = read;
  let unsettledBefore = ledger.unsettled();

  const ownership = (): Ownership => ({
    kinds,
    ledger: ledger.owned(),
    unserved: input.unservedKinds,
  });
  const planNow = (): Plan =>
    makePlan({
      ...input,
      lastGood: lastGood.current(),
      refused: new Map([...heldBack(input.rules, search), ...refusals.current()]),
      observed,
      ownership: ownership(),
      unsettled: ledger.unsettled(),
    });
  let plan = planNow();
  const replan = (): void => {
    plan = planNow();
  };
  const touched = (): string[] => plan.deltas.map((delta) => delta.package);
  const stillOwned = (): ReadonlyMap<string, string> =>
    new Map([
      ...[...ledger.owned()].filter(([key]) => isPresent(observed, key)),
      ...namesForLedger(plan, kinds),
    ]);

  return {
    plan: () => plan,
    replan,
    fingerprint: () => fingerprint,
    search,
    standing: () =>
      standingOf({
        plan,
        observed,
        unusable: read.unusable,
        ownership: ownership(),
        unsettled: ledger.unsettled(),
        warningOf: ledger.warningOf,
      }),
    begin: async () => {
      unsettledBefore = ledger.unsettled();
      await ledger.begin(namesForLedger(plan, kinds), touched());
    },
    absorb: async (result) => {
      if (result.outcome === 'done') {
        observed = new Map([...observed, ...result.observed]);
        ({ fingerprint } = result);
        await ledger.settle({
          owned: stillOwned(),
          packages: touched(),
          warnings: result.warnings,
        });
      } else {
        // The driver has put everything back, but it cannot settle what was unsettled before.
        const packages = touched().filter((name) => !unsettledBefore.has(name));
        await ledger.settle({ owned: stillOwned(), packages, warnings: new Map() });
      }
    },
  };
};

const heldBack = (
  rules: readonly RuleObject[],
  search: Search,
): [string, { revision: string; message: string }][] => {
  const held = new Set(search.held());
  if (held.size === 0) return [];
  return rules
    .filter(({ metadata }) => held.has(metadata.uid))
    .map((rule) => [
      rule.metadata.uid,
      {
        revision: revisionOf(rule),
        message: 'OpenWRT refuses the rules together; looking for the one',
      },
    ]);
};

/** What cannot be read may still be there. */
const isPresent = (observed: ReadonlyMap<string, UciPackage>, key: string): boolean => {
  const at = key.indexOf('.');
  const there = observed.get(key.slice(0, at));
  if (there === undefined) return true;
  return there.sections.some(({ name }) => ledgerKey(there.name, name) === key);
};
