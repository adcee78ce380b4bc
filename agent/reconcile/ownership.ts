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
  const isOurs = ownershipOf(uciPackage, new Set(ledger.keys()));
  const prefixes = kinds
    .filter(({ kind, uci }) => uci?.package === uciPackage && unserved.includes(kind))
    .flatMap(({ uci }) => (uci?.ownership === 'prefix' ? [uci.sectionPrefix] : []));
  return (section) => {
    const recordedFor = ledger.get(ledgerKey(uciPackage, section.name));
    if (recordedFor !== undefined && unserved.includes(recordedFor)) return false;
    return isOurs(section) && !prefixes.some((prefix) => section.name.startsWith(prefix));
  };
};
