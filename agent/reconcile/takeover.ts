/**
 * How sections that ICN's controller made become ours (docs/migration.md): found after reading,
 * recorded as begun, given our names on OpenWRT, and ours once each was read back under its name.
 * After that nothing tells them from others of ours but that they keep their places. Pure.
 */
import { takeoversIn, type Takeover } from '#shared/compile/adoption.ts';
import { ledgerKey } from '#shared/compile/ownership.ts';
import type { UciPackage } from '#shared/uci/model.ts';
import { oncePerNames } from '#shared/util/memo.ts';
import type { UciRename } from '../openwrt/driver.ts';
import type { LedgerRecord, TakenOver } from './ledger.ts';
import type { Plan } from './plan.ts';

export type TakeoverInput = Omit<
  Parameters<typeof takeoversIn>[0],
  'ledger' | 'begun' | 'removed'
> & {
  /** Whether sections keep their given names on OpenWRT; else they are given to each driver. */
  namesLast: boolean;
};

export type Findings = {
  takenOver: LedgerRecord['takenOver'];
  takeovers: readonly Takeover[];
  /** Uids of rules whose sections had our names, and are as ICN's controller makes them again. */
  rewritten: ReadonlySet<string>;
};

/** What is to be taken over, and what of the record still holds. */
export const lookFor = (input: TakeoverInput, { takenOver, owned }: LedgerRecord): Findings => {
  const { observed, rules, namesLast } = input;
  const isThere = lookIn(observed);
  const entries = [...takenOver].map(([key, entry]): [string, TakenOver] =>
    entry.stage === 'begun' && entry.uid !== '' && isThere(key)
      ? [key, { ...entry, stage: 'ours' }]
      : [key, entry],
  );
  const missing = entries.filter(([key, { stage }]) => stage === 'ours' && !isThere(key));
  const begun = entries.filter(([, { stage }]) => stage === 'begun');
  const takeovers = takeoversIn({
    ...input,
    ledger: owned,
    begun: new Set([...begun, ...(namesLast ? [] : missing)].map(([key]) => key)),
    removed: new Set(entries.flatMap(([, { uid, stage }]) => (stage === 'removed' ? [uid] : []))),
  });
  const claimed = new Set(takeovers.map(({ uid }) => uid));
  const keys = new Set(takeovers.map(keyOf));
  const uids = oncePerNames(() => new Set(rules.map(({ metadata }) => metadata.uid)));
  const stays = ([key, { uid, stage }]: [string, TakenOver]): boolean => {
    if (!observed.has(packageOf(key))) return true;
    if (stage === 'removed') return uids().has(uid);
    if (stage === 'begun') return keys.has(key);
    return isThere(key) || claimed.has(uid);
  };
  const rewritten = namesLast ? missing.map(([, { uid }]) => uid) : [];
  return {
    takenOver: new Map(entries.filter(stays)),
    takeovers,
    rewritten: new Set(rewritten.filter((uid) => claimed.has(uid))),
  };
};

/** What is to be recorded of them before OpenWRT is written to, and when they were read back. */
export const recorded = (
  record: LedgerRecord,
  takeovers: readonly Takeover[],
  stage: TakenOver['stage'],
): Pick<LedgerRecord, 'takenOver' | 'owned'> => ({
  takenOver: new Map([
    ...record.takenOver,
    ...takeovers.map((each): [string, TakenOver] => [keyOf(each), { uid: each.uid ?? '', stage }]),
  ]),
  owned: new Map([
    ...record.owned,
    ...takeovers.map((each): [string, string] => [keyOf(each), each.kind]),
  ]),
});

/**
 * What we put at another place is ours like any other from then on; of what was removed for a rule
 * that goes, its uid is remembered.
 */
export const afterChanges = (
  takenOver: LedgerRecord['takenOver'],
  { deltas, verdicts }: Pick<Plan, 'deltas' | 'verdicts'>,
): LedgerRecord['takenOver'] => {
  if (takenOver.size === 0) return takenOver;
  const leaving = new Set(
    verdicts.filter(({ verdict }) => verdict === 'unwanted').map(({ rule }) => rule.metadata.uid),
  );
  const touched = new Set(
    deltas.flatMap(({ remove, append, ...delta }) =>
      [...remove, ...append.map(({ name }) => name)].map((name) => ledgerKey(delta.package, name)),
    ),
  );
  return new Map(
    [...takenOver].flatMap(([key, entry]): [string, TakenOver][] => {
      if (!touched.has(key)) return [[key, entry]];
      return leaving.has(entry.uid) ? [[key, { ...entry, stage: 'removed' }]] : [];
    }),
  );
};

/** Sections that have their names already need none. */
export const renamesOf = (takeovers: readonly Takeover[]): readonly UciRename[] =>
  takeovers
    .filter(({ found, name }) => found.name !== name)
    .map(({ package: uciPackage, found, name }) => ({ package: uciPackage, section: found, name }));

/** `package.section` -> uid, of what keeps its place. */
export const inPlace = (takenOver: LedgerRecord['takenOver']): ReadonlyMap<string, string> =>
  new Map(
    [...takenOver].flatMap(([key, { uid, stage }]) => (stage === 'ours' ? [[key, uid]] : [])),
  );

const keyOf = ({ package: uciPackage, name }: Takeover): string => ledgerKey(uciPackage, name);

/** Tells whether `package.section` was read. Most often nothing is looked for. */
export const lookIn = (packages: ReadonlyMap<string, UciPackage>): ((key: string) => boolean) => {
  const namesIn = oncePerNames(
    (name: string) => new Set(packages.get(name)?.sections.map((section) => section.name)),
  );
  return (key) => namesIn(packageOf(key)).has(sectionOf(key));
};

export const packageOf = (key: string): string => key.slice(0, key.indexOf('.'));

export const sectionOf = (key: string): string => key.slice(key.indexOf('.') + 1);
