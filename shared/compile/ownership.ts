/** Which sections of OpenWRT are ours. All others are an administrator's and are never changed. */
import type { KindDefinition } from '../resources/kind.ts';
import { isPackage } from '../resources/parts.ts';
import { kinds as registry } from '../resources/registry.ts';
import type { UciPackage, UciSection } from '../uci/model.ts';
import { oncePerObject } from '../util/memo.ts';

/** Begins each section name of ours where names are free; also those of kinds that are gone. */
export const OWN_PREFIX = 'sdewan_';

const prefixed = new Set(
  registry.filter(({ uci }) => uci?.ownership === 'prefix').map(({ uci }) => uci?.package),
);

export const ledgerKey = (packageName: string, sectionName: string): string =>
  `${packageName}.${sectionName}`;

/** Tells our sections of one package. `ledger` holds `ledgerKey`s. */
export const ownershipOf = (
  packageName: string,
  ledger: Pick<ReadonlySet<string>, 'has'>,
): ((section: UciSection) => boolean) => {
  // Drivers show nothing but ours in parts beside the packages.
  if (!isPackage(packageName)) return () => true;
  const isPrefixed = prefixed.has(packageName);
  return ({ name }) =>
    (isPrefixed && name.startsWith(OWN_PREFIX)) || ledger.has(ledgerKey(packageName, name));
};

/** What is read in a section of others; undefined where our code fails at it: rules go on. */
export const ifReadable = <T>(read: () => T | undefined): T | undefined => {
  try {
    return read();
  } catch {
    return undefined;
  }
};

/** What OpenWRT holds that is not ours. */
export type Others = {
  /** By `ledgerKey`, and by what else they are. */
  sections: ReadonlyMap<string, UciSection>;
  /** By `Kind/name`: what acts as a CR of that kind. */
  named: ReadonlyMap<string, UciSection>;
};

/** Those whose names do not say that they are ours. Of thousands that are, few are looked at. */
export const unmarkedIn = ({ name, sections }: UciPackage): readonly UciSection[] =>
  prefixed.has(name) ? withoutPrefix(sections) : sections;

const withoutPrefix = oncePerObject((sections: readonly UciSection[]) =>
  sections.filter(({ name }) => !name.startsWith(OWN_PREFIX)),
);

/** By package: its sections that are not ours. `ledger` holds `ledgerKey`s. */
export const foreignIn = (
  observed: ReadonlyMap<string, UciPackage>,
  ledger: ReadonlySet<string>,
): ReadonlyMap<string, readonly UciSection[]> =>
  new Map(
    Array.from(observed, ([key, content]) => {
      const isOurs = ownershipOf(content.name, ledger);
      return [key, unmarkedIn(content).filter((section) => !isOurs(section))];
    }),
  );

export const othersOf = (
  foreign: ReadonlyMap<string, readonly UciSection[]>,
  kinds: readonly KindDefinition[],
): Others => {
  const sections = new Map<string, UciSection>();
  const named = new Map<string, UciSection>();
  for (const [packageName, all] of foreign) {
    const namers = kinds.filter(({ uci }) => uci?.package === packageName);
    for (const section of all) {
      sections.set(ledgerKey(packageName, section.name), section);
      for (const { kind, uci } of namers) {
        const identities = ifReadable(() => uci?.identities?.(section));
        for (const identity of identities ?? []) sections.set(identity, section);
        const name = ifReadable(() => uci?.nameOf?.(section));
        if (name !== undefined) named.set(`${kind}/${name}`, section);
      }
    }
  }
  return { sections, named };
};
