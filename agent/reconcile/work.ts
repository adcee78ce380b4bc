/** A pass under way: what OpenWRT holds as far as it is known, and what follows from that for every rule. */
import { adopt } from '#shared/compile/adoption.ts';
import { ledgerKey } from '#shared/compile/ownership.ts';
import { revisionOf } from '#shared/compile/revision.ts';
import type { DeviceTable, NetworkTable } from '#shared/compile/types.ts';
import { inDialect } from '#shared/resources/dialect.ts';
import type { KindDefinition } from '#shared/resources/kind.ts';
import type { RuleObject } from '#shared/kube/objects.ts';
import { isEmptyDelta } from '#shared/uci/delta.ts';
import type { UciPackage } from '#shared/uci/model.ts';
import type { ApplyResult, Driver, Fingerprint, ReadResult } from '../device/driver.ts';
import type { Comments, Ledger, Settlement } from './ledger.ts';
import {
  deltaForOpenwrt,
  kindsOf,
  leavingIn,
  rejectedByOurNames,
  warningsByOurNames,
  without,
} from './adopted.ts';
import { afterReading, afterWrite, beforeWrite } from './comments.ts';
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
  /** By `secretKey(name, key)`. */
  secrets: ReadonlyMap<string, string>;
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
  /** Records what was found to be ours. */
  takeOver: () => Promise<void>;
  /** Carries out the deltas of the plan and takes in what came of it; `replan` then makes the plan anew. @throws OpenwrtError */
  apply: (driver: Driver, signal: AbortSignal) => Promise<ApplyResult>;
};

export const beginWork = (deps: WorkDeps, input: PassInput, read: ReadResult): Work => {
  const { ledger, lastGood, refusals } = deps;
  const kinds = inDialect(deps.kinds, read.dialect);
  const search = createSearch();
  const adoptionOf = (observed: ReadonlyMap<string, UciPackage>, before: ReadonlySet<string>) =>
    adopt({ observed, rules: input.rules, kinds, ledger: ledger.owned(), before, released });
  const uids = new Set(input.rules.map(({ metadata }) => metadata.uid));
  let released: ReadonlySet<string> = new Set(
    [...ledger.released()].filter((uid) => uids.has(uid)),
  );
  let found = read.packages;
  let adoption = adoptionOf(found, ledger.adopted());
  let { fingerprint } = read;
  const { commented = new Set<string>() } = read;
  let { doubtful = new Set<string>() } = read;
  let stuck: ReadonlySet<string> = new Set();

  const ownership = (): Ownership => ({
    kinds,
    ledger: new Map([...ledger.owned(), ...kindsOf(adoption)]),
    unserved: input.unservedKinds,
  });
  const planNow = (): Plan =>
    makePlan({
      ...input,
      ipsec: read.ipsec,
      lastGood: lastGood.current(),
      refused: new Map([...heldBack(input.rules, search), ...refusals.current()]),
      adoption,
      ownership: ownership(),
      unsettled: new Set([...ledger.unsettled(), ...doubtful]),
      dialect: read.dialect,
      stuck,
    });
  let plan = planNow();
  const replan = (): void => {
    plan = planNow();
  };
  const touched = (): string[] => plan.deltas.map((delta) => delta.package);
  /** One that is only reloaded is not written. */
  const written = (): string[] =>
    plan.deltas.filter((delta) => !isEmptyDelta(delta)).map((delta) => delta.package);
  const stillOwned = (): ReadonlyMap<string, string> =>
    new Map([
      ...[...ledger.owned()].filter(([key]) => isPresent(adoption.packages, key)),
      ...namesForLedger(plan, kinds),
    ]);

  /** Adopted in packages that cannot be read now. */
  const unread = (): ReadonlyMap<string, string> =>
    new Map(
      [...ledger.owned()].filter(
        ([key]) => ledger.adopted().has(key) && !found.has(packageOf(key)),
      ),
    );
  const settle = (
    packages: string[],
    warnings: Settlement['warnings'],
    comments: Comments,
  ): Promise<void> =>
    ledger.settle({
      owned: stillOwned(),
      adopted: new Set([...unread().keys(), ...adoption.adopted.keys()]),
      released,
      packages,
      warnings,
      comments,
    });

  return {
    plan: () => plan,
    replan,
    fingerprint: () => fingerprint,
    search,
    standing: () =>
      standingOf({
        rules: input.rules,
        plan,
        observed: adoption.packages,
        unusable: read.unusable,
        ownership: ownership(),
        unsettled: ledger.unsettled(),
        warningOf: ledger.warningOf,
      }),
    takeOver: () =>
      ledger.adopt({
        adopted: new Map([...unread(), ...kindsOf(adoption)]),
        released,
        comments: afterReading(ledger.comments(), read.packages, commented),
      }),
    apply: async (driver, signal) => {
      const unsettledBefore = ledger.unsettled();
      const { deltas } = plan;
      const atStake = beforeWrite(ledger.comments(), written(), commented);
      await ledger.begin(namesForLedger(plan, kinds), touched(), atStake);
      const result = await driver.apply(
        deltas.map((delta) => deltaForOpenwrt(delta, adoption)),
        signal,
      );
      const isUntouched = (name: string): boolean => !touched().includes(name);
      if (result.outcome === 'rejected') {
        const { partly } = result;
        if (partly) {
          doubtful = new Set([...doubtful].filter(isUntouched));
          await ledger.begin(new Map(), [...partly.unsettled]);
          found = new Map([...found, ...partly.observed]);
          ({ fingerprint } = partly);
          adoption = adoptionOf(found, without(ledger.adopted(), deltas));
        }
        // Where the driver has put everything back, it cannot have settled what was unsettled before.
        const unsettled = partly?.unsettled ?? unsettledBefore;
        const packages = touched().filter((name) => !unsettled.has(name));
        await settle(packages, new Map(), atStake);
        return rejectedByOurNames(result, adoption);
      }
      found = new Map([...found, ...result.observed]);
      ({ fingerprint } = result);
      doubtful = new Set([...doubtful].filter(isUntouched));
      stuck = new Set([...stuck, ...keysOf(result.stuck)]);
      released = new Set([...released, ...leavingIn(plan, adoption)]);
      adoption = adoptionOf(found, without(ledger.adopted(), deltas));
      const warnings = warningsByOurNames(result, adoption);
      await settle(touched(), warnings, afterWrite(atStake, written()));
      return { ...result, warnings };
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

const keysOf = (sections: ReadonlyMap<string, ReadonlySet<string>> = new Map()): string[] =>
  [...sections].flatMap(([name, names]) => [...names].map((each) => ledgerKey(name, each)));

/** What cannot be read may still be there. */
const isPresent = (observed: ReadonlyMap<string, UciPackage>, key: string): boolean => {
  const there = observed.get(packageOf(key));
  if (there === undefined) return true;
  return there.sections.some(({ name }) => ledgerKey(there.name, name) === key);
};

const packageOf = (key: string): string => key.slice(0, key.indexOf('.'));
