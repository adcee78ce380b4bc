/** What one look at everything comes to: the verdicts, and what would have to change on OpenWRT. Pure. */
import type { Adoption } from '#shared/compile/adoption.ts';
import { compile } from '#shared/compile/compile.ts';
import { ledgerKey } from '#shared/compile/ownership.ts';
import { pinnedIn } from '#shared/compile/pinned.ts';
import type { CompileResult, DeviceTable, LastGood, NetworkTable } from '#shared/compile/types.ts';
import type { KindDefinition } from '#shared/kinds/kind.ts';
import type { RuleObject } from '#shared/kube/objects.ts';
import { deltaOf, isEmptyDelta } from '#shared/uci/delta.ts';
import type { UciDelta } from '#shared/uci/model.ts';
import { isOursIn, type Ownership } from './ownership.ts';

export type PlanInput = {
  rules: readonly RuleObject[];
  networks: NetworkTable;
  devices: DeviceTable;
  lastGood: LastGood;
  /** By uid: rules that OpenWRT refused, or that are held back while the guilty one is looked for. */
  refused: ReadonlyMap<string, { revision: string; message: string }>;
  /** The packages that can be written to, as they are, and what of them is adopted. */
  adoption: Adoption;
  ownership: Ownership;
  /** Packages whose service may lag behind the file. */
  unsettled: ReadonlySet<string>;
};

export type Plan = CompileResult & {
  /** Per package that has to be written or reloaded. */
  deltas: readonly UciDelta[];
};

export const makePlan = (input: PlanInput): Plan => {
  const { rules, networks, devices, lastGood, refused, adoption, ownership, unsettled } = input;
  const observed = adoption.packages;
  const ledger = new Set(ownership.ledger.keys());
  const compiled = compile({ rules, networks, devices, lastGood, observed, ledger, refused });
  const deltas: UciDelta[] = [];
  for (const [name, desired] of compiled.desired) {
    const there = observed.get(name);
    if (there === undefined) continue;
    const isOurs = isOursIn(name, ownership);
    const pinned = pinnedIn(name, adoption, compiled);
    const delta = deltaOf({ observed: there, desired, isOurs, pinned });
    if (!isEmptyDelta(delta) || unsettled.has(name)) deltas.push(delta);
  }
  return { ...compiled, deltas };
};

/** Names that the plan may write and that nothing but the ledger can mark as ours: `package.section` -> kind. */
export const namesForLedger = (
  { verdicts }: Pick<Plan, 'verdicts'>,
  kinds: readonly KindDefinition[],
): ReadonlyMap<string, string> => {
  const recorded = new Set(
    kinds.filter(({ uci }) => uci?.ownership === 'ledger').map(({ kind }) => kind),
  );
  return new Map(
    verdicts
      .filter(({ rule }) => recorded.has(rule.kind))
      .flatMap(({ rule, sections }) =>
        sections.map((section) => [ledgerKey(section.package, section.name), rule.kind] as const),
      ),
  );
};
