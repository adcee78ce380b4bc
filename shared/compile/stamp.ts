/**
 * The stamp of sections whose names are the CRs' own, so that the names do not tell whose they are:
 * an option that OpenWRT's programs do not ask for. It is written and removed with its section, and
 * tells an agent that has lost its ledger, or came to an OpenWRT that outlived the pod of the one
 * before, what is ours. It holds the name of its section: what an administrator renames or copies
 * is theirs.
 */
import type { KindDefinition } from '../resources/kind.ts';
import { sectionsEqual } from '../uci/delta.ts';
import type { UciPackage, UciSection } from '../uci/model.ts';
import { oncePerObject } from '../util/memo.ts';
import { ledgerKey } from './ownership.ts';

export const STAMP = 'sdewan_made';

export const stamped = (section: UciSection, kind: string): UciSection => ({
  ...section,
  options: { ...section.options, [STAMP]: `${kind}/${section.name}` },
});

/** `package.section` -> kind, of all that bear a stamp of ours where sections can. */
export const stampedIn = (
  observed: ReadonlyMap<string, UciPackage>,
  kinds: readonly KindDefinition[],
): ReadonlyMap<string, string> => {
  const packages = new Set(
    kinds.filter(({ uci }) => uci?.ownership === 'stamp').map(({ uci }) => uci?.package),
  );
  const found = new Map<string, string>();
  for (const { name: packageName, sections } of observed.values()) {
    if (!packages.has(packageName)) continue;
    for (const section of sections) {
      const kind = kindStampedOn(section);
      if (kind !== undefined) found.set(ledgerKey(packageName, section.name), kind);
    }
  }
  return found;
};

/**
 * `desired` without the stamps of those sections of ours that lack nothing else: no service is
 * reloaded for a stamp alone.
 */
export const withoutStampsAlone = (
  desired: readonly UciSection[],
  { sections }: UciPackage,
  isOurs: (section: UciSection) => boolean,
): readonly UciSection[] => {
  if (!hasStamps(desired)) return desired;
  const there = new Map(sections.filter(isOurs).map((section) => [section.name, section]));
  return desired.map((section) => {
    const found = there.get(section.name);
    const { [STAMP]: _stamp, ...options } = section.options;
    const unstamped = { ...section, options };
    return found !== undefined && sectionsEqual(found, unstamped) ? unstamped : section;
  });
};

const hasStamps = oncePerObject((sections: readonly UciSection[]) =>
  sections.some(({ options }) => STAMP in options),
);

export const kindStampedOn = ({ name, options }: UciSection): string | undefined => {
  const stamp = options[STAMP];
  if (typeof stamp !== 'string') return undefined;
  const [kind, ofSection] = stamp.split('/');
  return ofSection === name ? kind : undefined;
};
