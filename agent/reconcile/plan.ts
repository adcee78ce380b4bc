/** The result of one look at everything: the verdicts, and what has to change on OpenWRT. Pure. */
import type { Candidates } from '#shared/compile/candidates.ts';
import { compile } from '#shared/compile/compile.ts';
import { withoutStampsAlone } from '#shared/compile/stamp.ts';
import { ledgerKey } from '#shared/compile/ownership.ts';
import { pinnedIn } from '#shared/compile/pinned.ts';
import type {
  CompileInput,
  CompileResult,
  DeviceTable,
  LastGood,
  PodNetworks,
} from '#shared/compile/types.ts';
import type { Capabilities } from '#shared/resources/capabilities.ts';
import type { CnfPlace, KindDefinition } from '#shared/resources/kind.ts';
import type { RuleObject } from '#shared/kube/objects.ts';
import { isEmptyDelta } from '#shared/uci/delta.ts';
import type { UciDelta, UciPackage, UciSection } from '#shared/uci/model.ts';
import { oncePerPair } from '#shared/util/memo.ts';
import { icnDeltaOf } from '../openwrt/icn/delta.ts';
import { partOf } from '../openwrt/parts/parts.ts';
import { isOursIn, type Ownership } from './ownership.ts';

export type PlanInput = PodNetworks & {
  rules: readonly RuleObject[];
  devices: DeviceTable;
  place?: CnfPlace | undefined;
  secrets: ReadonlyMap<string, string>;
  unreadSecrets?: CompileInput['unreadSecrets'];
  capabilities: Capabilities;
  lastGood: LastGood;
  /** By uid: rules that OpenWRT refused, or that are left out while the culprit is searched for. */
  refused: CompileInput['refused'];
  withheld: CompileInput['withheld'];
  /** The packages that can be written to, as they are. */
  observed: ReadonlyMap<string, UciPackage>;
  unusable: CompileInput['unusable'];
  /** `package.section` -> uid of its rule, of what was ICN's and keeps its place. */
  takenOver: ReadonlyMap<string, string>;
  ownership: Ownership;
  /** Packages whose service may lag behind the file. */
  unsettled: ReadonlySet<string>;
  /** `package.section` of what OpenWRT does not remove. */
  stuck: ReadonlySet<string>;
  /** Nothing waits for this pass. */
  quiet: boolean;
};

export type Plan = CompileResult & {
  /** Per package that has to be written or reloaded. */
  deltas: readonly UciDelta[];
  /** Packages whose contents are not as desired. */
  differing: ReadonlySet<string>;
};

const deltasIn = { uci: (name: string) => partOf(name).delta, icn: () => icnDeltaOf } as const;

/** `candidates`: those of the plan before. */
export const makePlan = (input: PlanInput, candidates?: Candidates): Plan => {
  const { takenOver, ownership, unsettled, stuck, quiet, ...known } = input;
  const { observed, capabilities } = known;
  const ledger = new Set(ownership.ledger.keys());
  const compiled = asFound(compile({ ...known, ledger }, candidates), input);
  const deltas: UciDelta[] = [];
  const differing = new Set<string>();
  for (const [name, desired] of compiled.desired) {
    const there = observed.get(name);
    if (there === undefined) continue;
    const isOurs = isOursIn(name, ownership);
    const isFree = (section: UciSection): boolean =>
      isOurs(section) && (stuck.size === 0 || !stuck.has(ledgerKey(name, section.name)));
    const pinned = pinnedIn(there, takenOver, compiled);
    const changes = { observed: there, desired, isOurs: isFree, pinned };
    const difference = deltasIn[capabilities.dialect](name);
    const delta = difference(changes);
    if (!isEmptyDelta(delta)) differing.add(name);
    if (unsettled.has(name)) deltas.push(difference({ ...changes, anew: true }));
    else {
      const change = quiet ? difference({ ...changes, quiet }) : delta;
      if (!isEmptyDelta(change)) deltas.push(change);
    }
  }
  return { ...compiled, deltas, differing };
};

const asFound = (
  { desired, verdicts }: CompileResult,
  { observed, ownership }: PlanInput,
): CompileResult => ({
  verdicts,
  desired: new Map(
    [...desired].map(([name, sections]) => {
      const there = observed.get(name);
      const isOurs = isOursIn(name, ownership);
      return [name, there ? withoutStampsAlone(sections, there, isOurs) : sections];
    }),
  ),
});

/** Names that the plan may write, and that do not tell their owner: `package.section` -> kind. */
export const namesForLedger = (
  { verdicts }: Pick<Plan, 'verdicts'>,
  kinds: readonly KindDefinition[],
): ReadonlyMap<string, string> => namesIn(verdicts, kinds);

const namesIn = oncePerPair((verdicts: Plan['verdicts'], kinds: readonly KindDefinition[]) => {
  const recorded = new Set(
    kinds.filter(({ uci }) => uci && uci.ownership !== 'prefix').map(({ kind }) => kind),
  );
  return new Map(
    verdicts
      .filter(({ rule }) => recorded.has(rule.kind))
      .flatMap(({ rule, sections }) =>
        sections.map((section) => [ledgerKey(section.package, section.name), rule.kind] as const),
      ),
  );
});
