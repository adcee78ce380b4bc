/**
 * What ICN's controller made for CRs that are ours now, taken over as it is. Its anonymous sections get the name here that
 * ours would have, so that all else speaks of them by one name; on OpenWRT they stay anonymous and where they are, and are
 * written only to change or remove them. Pure.
 */
import { kinds, placeOf as placeOfKind } from '../resources/registry.ts';
import type { KindDefinition } from '../resources/kind.ts';
import { label } from '../resources/render.ts';
import type { RuleObject } from '../kube/objects.ts';
import { ICN_FINALIZERS } from '../names.ts';
import type { UciPackage, UciSection } from '../uci/model.ts';
import { uciName } from '../uci/names.ts';
import { compare } from './in-use.ts';
import { ledgerKey } from './ownership.ts';

export type Adopted = {
  kind: string;
  /** Of the CR; undefined when only the ledger still knows what the section was for. */
  uid: string | undefined;
  /** As OpenWRT has it, by the name that OpenWRT knows. */
  found: UciSection;
};

export type Adoption = {
  /** The packages with adopted anonymous sections under the names that ours would have. */
  packages: ReadonlyMap<string, UciPackage>;
  /** By `ledgerKey` of that name. */
  adopted: ReadonlyMap<string, Adopted>;
};

export type AdoptionInput = {
  /** As read. */
  observed: ReadonlyMap<string, UciPackage>;
  rules: readonly RuleObject[];
  /** Each with the rendering of the API that OpenWRT is spoken to by. Default: those of the registry. */
  kinds?: readonly KindDefinition[];
  /** `ledgerKey` -> kind: all that is ours, what was adopted earlier included. */
  ledger: ReadonlyMap<string, string>;
  /** `ledgerKey`s of what was adopted earlier, under the names that it got. */
  before: ReadonlySet<string>;
  /** Uids of CRs being deleted whose adopted sections are gone: what bears their names now is somebody else's. */
  released: ReadonlySet<string>;
};

/**
 * A section is a CR's when the CR bears a finalizer of ICN's controller, or when it was adopted earlier. Of anonymous ones of
 * one name ICN's REST treats all as one object, so all are adopted; but what appears beside an adopted one later is not ICN's.
 */
export const adopt = (input: AdoptionInput): Adoption => {
  const adopted = new Map<string, Adopted>();
  const packages = new Map(input.observed);
  const upTo = limiterOf(input.before);
  for (const { name, sections } of input.observed.values()) {
    const names = new Map<UciSection, string>();
    const there: ReadonlySet<string> = new Set(sections.map((section) => section.name));
    const taken = new Set(there);
    const find = finderIn(sections);
    for (const claim of [...claimsOn(name, input), ...orphansOn(name, input)]) {
      const key = ledgerKey(name, claim.sectionName);
      // ICN's REST finds ours by its option `name` and makes no second one, so that would be somebody else's.
      const hasOurs = there.has(claim.sectionName);
      const found = find(claim).filter((section) => !names.has(section));
      for (const section of upTo(key, found)) {
        const own = ownNameOf(section, claim, taken);
        const ownKey = ledgerKey(name, own);
        const isNew = claim.isIcns && !(section.anonymous ? hasOurs : input.ledger.has(ownKey));
        if (!isNew && !input.before.has(ownKey)) continue;
        taken.add(own);
        names.set(section, own);
        adopted.set(ownKey, { kind: claim.kind.kind, uid: claim.uid, found: section });
      }
    }
    if (names.size > 0) packages.set(name, { name, sections: sections.map(renamed(names)) });
  }
  return { packages, adopted };
};

type Claim = {
  kind: KindDefinition;
  uid: string | undefined;
  /** What ours is called. */
  sectionName: string;
  /** What ICN's REST can know the CR by. */
  names: readonly string[];
  /** ICN's controller has applied the CR. */
  isIcns: boolean;
};

/** Older CRs first, as names are given away. */
const claimsOn = (packageName: string, input: AdoptionInput): Claim[] => {
  const { rules, before, released } = input;
  const byName = kindsByName(input);
  return rules
    .map((rule) => ({ rule, kind: byName.get(rule.kind) }))
    .sort(
      ({ rule: { metadata: a, kind: one } }, { rule: { metadata: b, kind: other } }) =>
        compare(a.creationTimestamp, b.creationTimestamp) ||
        placeOfKind(one) - placeOfKind(other) ||
        compare(a.name, b.name),
    )
    .flatMap(({ rule: { metadata }, kind }) => {
      if (!kind?.uci?.icn || kind.uci.package !== packageName) return [];
      const { name, uid, finalizers = [] } = metadata;
      const sectionName = `${kind.uci.sectionPrefix}${uciName(name)}`;
      const isIcns =
        !released.has(uid) && finalizers.some((finalizer) => ICN_FINALIZERS.includes(finalizer));
      if (!isIcns && before.size === 0) return [];
      return [{ kind, uid, sectionName, names: [name, uciName(name), label(name)], isIcns }];
    });
};

/** Adopted earlier; when no CR claims them any more, they are still ours. */
const orphansOn = (packageName: string, { before, ledger, ...input }: AdoptionInput): Claim[] => {
  const byName = kindsByName(input);
  return [...before].flatMap((key) => {
    const kind = byName.get(ledger.get(key) ?? '');
    if (kind?.uci?.package !== packageName) return [];
    const sectionName = key.slice(ledgerKey(packageName, '').length);
    const names = [sectionName.slice(kind.uci.sectionPrefix.length)];
    return [{ kind, uid: undefined, sectionName, names, isIcns: false }];
  });
};

const kindsByName = (input: Pick<AdoptionInput, 'kinds'>): ReadonlyMap<string, KindDefinition> =>
  new Map((input.kinds ?? kinds).map((kind) => [kind.kind, kind]));

/** Sections that ICN's controller could have made for a CR, those of the CR's own name first. */
const finderIn = (sections: readonly UciSection[]) => {
  const indices = new Map<string, ReadonlyMap<string, readonly UciSection[]>>();
  const indexOf = ({ kind, uci }: KindDefinition): ReadonlyMap<string, readonly UciSection[]> => {
    const known = indices.get(kind);
    if (known) return known;
    const named = sections.filter((section) => uci?.icn?.nameOf(section) !== undefined);
    // By what UCI can hold, too: only that is known of a CR that is gone.
    const index = Map.groupBy(named, (section) => uciName(uci?.icn?.nameOf(section) ?? ''));
    indices.set(kind, index);
    return index;
  };
  return ({ kind, names, uid }: Claim): readonly UciSection[] => {
    const { nameOf, partsOf } = kind.uci?.icn ?? {};
    const found = (indexOf(kind).get(uciName(names[0] ?? '')) ?? []).filter(
      (section) => uid === undefined || names.includes(nameOf?.(section) ?? ''),
    );
    return found.flatMap((section) => [section, ...(partsOf?.(section, sections) ?? [])]);
  };
};

const DOUBLE = '__';

/** How many of a name may be adopted: at first all, later as many as were. Only anonymous sections can be there several times. */
const limiterOf = (before: ReadonlySet<string>) => {
  const doubles = Map.groupBy(before, (key) => key.replace(/__\d+$/, ''));
  return (key: string, sections: readonly UciSection[]): readonly UciSection[] => {
    if (!before.has(key)) return sections;
    const known = doubles.get(key)?.length ?? 1;
    const anonymous = sections.filter((section) => section.anonymous);
    return [...sections.filter((section) => !section.anonymous), ...anonymous.slice(0, known)];
  };
};

const free = (name: string, taken: ReadonlySet<string>): string => {
  if (!taken.has(name)) return name;
  let count = 2;
  while (taken.has(`${name}${DOUBLE}${count}`)) count += 1;
  return `${name}${DOUBLE}${count}`;
};

/** Anonymous sections, and objects whose names ours cannot be, get ours; parts have names of their own. */
const ownNameOf = (section: UciSection, claim: Claim, taken: ReadonlySet<string>): string => {
  const isPart = claim.kind.uci?.icn?.nameOf(section) === undefined;
  return isPart || section.name === claim.sectionName
    ? section.name
    : free(claim.sectionName, taken);
};

const renamed =
  (names: ReadonlyMap<UciSection, string>) =>
  (section: UciSection): UciSection => ({ ...section, name: names.get(section) ?? section.name });
