/** Which sections that were taken over from ICN's controller keep their places. Pure. */
import type { UciPackage, UciSection } from '../uci/model.ts';
import { ledgerKey } from './ownership.ts';
import { orderOf } from './revision.ts';
import type { CompileResult } from './types.ts';

/**
 * Sections of a package that keep their places and change there: those that are wanted, unless an
 * order annotation asks for another place, and those of CRs that cannot be put into force now.
 * `takenOver`: `ledgerKey` -> uid of the CR. The rest of them is to be removed.
 */
export const pinnedIn = (
  { name: packageName, sections }: UciPackage,
  takenOver: ReadonlyMap<string, string>,
  { desired, verdicts }: CompileResult,
): ReadonlySet<string> => {
  if (takenOver.size === 0) return new Set();
  const isTakenOver = (name: string): boolean => takenOver.has(ledgerKey(packageName, name));
  const ours = sections.filter(({ name }) => isTakenOver(name));
  if (ours.length === 0) return new Set();
  const wanted = new Set((desired.get(packageName) ?? []).map(({ name }) => name));
  const moving = typesToMove(
    packageName,
    { desired, verdicts },
    { sections, isPinned: isTakenOver },
  );
  const waiting = new Set(
    verdicts
      .filter(
        ({ verdict, generationInForce }) =>
          verdict !== 'unwanted' && generationInForce === undefined,
      )
      .map(({ rule }) => rule.metadata.uid),
  );
  const stays = ({ name, type }: UciSection): boolean => {
    if (wanted.has(name)) return !moving.has(type);
    const uid = takenOver.get(ledgerKey(packageName, name));
    return uid !== undefined && waiting.has(uid);
  };
  return new Set(ours.filter(stays).map(({ name }) => name));
};

/**
 * Types with a section that stands on the wrong side of one that was taken over, or would when it
 * is appended, by the order annotations.
 */
const typesToMove = (
  packageName: string,
  { desired, verdicts }: CompileResult,
  { sections, isPinned }: { sections: readonly UciSection[]; isPinned: (name: string) => boolean },
): ReadonlySet<string> => {
  const places = new Map(sections.map(({ name }, place) => [name, place]));
  const orders = new Map(
    verdicts.flatMap(({ rule, sections: own }) =>
      own
        .filter((section) => section.package === packageName)
        .map(({ name }) => [name, orderOf(rule) ?? 0] as const),
    ),
  );
  const placeOf = ({ name }: UciSection): number => places.get(name) ?? Infinity;
  const inPlace = [...(desired.get(packageName) ?? [])].sort((a, b) =>
    placeOf(a) === placeOf(b) ? 0 : placeOf(a) - placeOf(b),
  );
  /** Per type, the highest order so far. */
  const ofPinned = new Map<string, number>();
  const ofAll = new Map<string, number>();
  const moving = new Set<string>();
  for (const { name, type } of inPlace) {
    const order = orders.get(name) ?? 0;
    const before = (isPinned(name) ? ofAll : ofPinned).get(type) ?? -Infinity;
    if (order < before) moving.add(type);
    for (const highest of isPinned(name) ? [ofAll, ofPinned] : [ofAll])
      highest.set(type, Math.max(order, highest.get(type) ?? -Infinity));
  }
  return moving;
};
