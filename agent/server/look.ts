/** A look at OpenWRT beside what it should be. Changes nothing; runs while no pass does. */
import type { KindDefinition } from '#shared/resources/kind.ts';
import { applyDelta } from '#shared/uci/delta.ts';
import type { UciPackage } from '#shared/uci/model.ts';
import type { Driver } from '../openwrt/driver.ts';
import type { CommitConfirm } from '../commit-confirm/commit-confirm.ts';
import type { LastGoodStore } from '../reconcile/last-good.ts';
import type { Ledger } from '../reconcile/ledger.ts';
import { afterRead, planOf, type PassInput } from '../reconcile/pass-state.ts';
import type { Plan } from '../reconcile/plan.ts';
import type { Refusals } from '../reconcile/refusals.ts';

export type LookDeps = {
  kinds: readonly KindDefinition[];
  driver: Pick<Driver, 'read'>;
  ledger: Pick<Ledger, 'record'>;
  lastGood: Pick<LastGoodStore, 'current'>;
  refusals: Pick<Refusals, 'current'>;
  commitConfirm: Pick<CommitConfirm, 'peek'>;
};

export type Look = {
  held: ReadonlyMap<string, UciPackage>;
  wanted: ReadonlyMap<string, UciPackage>;
  unusable: ReadonlyMap<string, string>;
  verdicts: Plan['verdicts'];
};

/** @throws OpenwrtError */
export const lookAt = async (
  deps: LookDeps,
  input: PassInput,
  signal: AbortSignal,
): Promise<Look> => {
  const { kinds, driver, ledger, lastGood, refusals, commitConfirm } = deps;
  const read = await driver.read(signal);
  const view = commitConfirm.peek(input.rules, lastGood.current());
  const state = afterRead(kinds, { ...input, rules: view.rules }, read, ledger.record());
  const { deltas, verdicts } = planOf(state, {
    lastGood: view.lastGood(lastGood.current()),
    refused: new Map([...refusals.current(), ...view.refused]),
  });
  const wanted = new Map(read.packages);
  for (const delta of deltas) {
    const there = read.packages.get(delta.package);
    if (there) wanted.set(delta.package, applyDelta(there, delta));
  }
  return { held: read.packages, wanted, unusable: read.unusable, verdicts };
};
