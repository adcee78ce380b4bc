/** Which sections a pass may change: ours, less those of kinds whose rules are not known. */
import { ledgerKey, ownershipOf } from '#shared/compile/ownership.ts';
import type { KindDefinition } from '#shared/resources/kind.ts';
import type { UciSection } from '#shared/uci/model.ts';

export type Ownership = {
  kinds: readonly KindDefinition[];
  /** `package.section` -> kind, from the ledger. */
  ledger: ReadonlyMap<string, string>;
  /** Kinds that the API server does not serve: whatever is there for them stays. */
  unserved: readonly string[];
};

export const isOursIn = (
  uciPackage: string,
  { kinds, ledger, unserved }: Ownership,
): ((section: UciSection) => boolean) => {
  const isOurs = ownershipOf(uciPackage, ledger);
  if (unserved.length === 0) return isOurs;
  const prefixes = kinds
    .filter(({ kind, uci }) => uci?.package === uciPackage && unserved.includes(kind))
    .flatMap(({ uci }) => (uci?.ownership === 'prefix' ? [uci.sectionPrefix] : []));
  return (section) => {
    if (!isOurs(section)) return false;
    const recordedFor = ledger.get(ledgerKey(uciPackage, section.name)) ?? '';
    return (
      !unserved.includes(recordedFor) && !prefixes.some((prefix) => section.name.startsWith(prefix))
    );
  };
};
