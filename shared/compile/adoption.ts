/**
 * What ICN's controller made for CRs that are ours now, to be taken over as it is: which sections,
 * and what they are to be called. Its anonymous sections are given the names that ours would have,
 * in their places; from then on they are like any other of ours. Pure.
 */
import { kinds, placeOf as placeOfKind } from '../resources/registry.ts';
import type { KindDefinition } from '../resources/kind.ts';
import { label } from '../resources/render.ts';
import type { RuleObject } from '../kube/objects.ts';
import { ICN_FINALIZERS } from '../names.ts';
import type { UciPackage, UciSection } from '../uci/model.ts';
import { uciName } from '../uci/names.ts';
import { compare } from './in-use.ts';
import { ifReadable, ledgerKey } from './ownership.ts';

export type Takeover = {
  package: string;
  kind: string;
  /** The CR's; undefined when only the ledger still knows what the section was for. */
  uid: string | undefined;
  /** As OpenWRT has it now. */
  found: UciSection;
  /** What it is to be called. */
  name: string;
};

export type AdoptionInput = {
  /** As read. */
  observed: ReadonlyMap<string, UciPackage>;
  rules: readonly RuleObject[];
  /** Each with the rendering of the API that OpenWRT is spoken to by. Default: the registry's. */
  kinds?: readonly KindDefinition[];
  /** `ledgerKey` -> kind: all that is ours. */
  ledger: ReadonlyMap<string, string>;
  /** `ledgerKey`s, by the names that they are to have, of what is ours and has no such name yet. */
  begun: ReadonlySet<string>;
  /** Uids of CRs whose sections were taken over and removed: what has their names is another's. */
  removed: ReadonlySet<string>;
};

/**
 * A section is a CR's when the CR bears a finalizer of ICN's controller, or when its takeover was
 * begun. Of anonymous ones of one name ICN's REST treats all as one object, so all are taken over;
 * but what appears beside one of ours later is not ICN's.
 */
export const takeoversIn = (input: AdoptionInput): readonly Takeover[] => {
  const takeovers: Takeover[] = [];
  const upTo = limiterOf(input.begun);
  const claims = claimsOf(input);
  if (claims.length + input.begun.size === 0) return [];
  for (const { name: packageName, sections } of input.observed.values()) {
    const done = new Set<UciSection>();
    const there: ReadonlySet<string> = new Set(sections.map((section) => section.name));
    const taken = new Set(there);
    const find = finderIn(sections);
    for (const claim of [...claimsOn(packageName, claims), ...orphansOn(packageName, input)]) {
      const key = ledgerKey(packageName, claim.sectionName);
      // ICN's REST finds ours by its option `name` and makes no second one, so another is not ours.
      const hasOurs = there.has(claim.sectionName);
      const found = find(claim).filter((section) => !done.has(section));
      for (const section of upTo(key, found)) {
        const name = ownNameOf(section, claim, taken);
        const ownKey = ledgerKey(packageName, name);
        const isNew = claim.isIcns && !(section.anonymous ? hasOurs : input.ledger.has(ownKey));
        if (!isNew && !input.begun.has(ownKey)) continue;
        taken.add(name);
        done.add(section);
        const { kind, uid } = claim;
        takeovers.push({ package: packageName, kind: kind.kind, uid, found: section, name });
      }
    }
  }
  return takeovers;
};

type Claim = {
  kind: KindDefinition;
  uid: string | undefined;
  /** The names of our sections. */
  sectionName: string;
  /** The names under which ICN's REST can know the CR. */
  names: readonly string[];
  /** ICN's controller has applied the CR. */
  isIcns: boolean;
};

/** Older CRs first, as names are given away. */
const claimsOf = (input: AdoptionInput): Claim[] => {
  const { rules, begun, removed } = input;
  const byName = kindsByName(input);
  const isIcns = ({ metadata: { uid, finalizers = [] } }: RuleObject): boolean =>
    !removed.has(uid) && finalizers.some((finalizer) => ICN_FINALIZERS.includes(finalizer));
  return rules
    .filter((rule) => begun.size > 0 || isIcns(rule))
    .sort(
      ({ metadata: a, kind: one }, { metadata: b, kind: other }) =>
        compare(a.creationTimestamp, b.creationTimestamp) ||
        placeOfKind(one) - placeOfKind(other) ||
        compare(a.name, b.name),
    )
    .flatMap((rule) => {
      const kind = byName.get(rule.kind);
      if (!kind?.uci?.icn) return [];
      const { name, uid } = rule.metadata;
      const sectionName = `${kind.uci.sectionPrefix}${uciName(name)}`;
      const names = [name, uciName(name), label(name)];
      return [{ kind, uid, sectionName, names, isIcns: isIcns(rule) }];
    });
};

const claimsOn = (packageName: string, claims: readonly Claim[]): readonly Claim[] =>
  claims.filter(({ kind }) => kind.uci?.package === packageName);

/** When no CR claims them any more, they are still ours. */
const orphansOn = (packageName: string, { begun, ledger, ...input }: AdoptionInput): Claim[] => {
  const byName = kindsByName(input);
  return [...begun].flatMap((key) => {
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
    const nameOf = (section: UciSection) => ifReadable(() => uci?.icn?.nameOf(section));
    const named = sections.filter((section) => nameOf(section) !== undefined);
    // By what UCI can hold, too: only that is known of a CR that is gone.
    const index = Map.groupBy(named, (section) => uciName(nameOf(section) ?? ''));
    indices.set(kind, index);
    return index;
  };
  return ({ kind, names, uid }: Claim): readonly UciSection[] => {
    const { nameOf, partsOf } = kind.uci?.icn ?? {};
    const found = (indexOf(kind).get(uciName(names[0] ?? '')) ?? []).filter(
      (section) => uid === undefined || names.includes(nameOf?.(section) ?? ''),
    );
    return found.flatMap((section) => [
      section,
      ...(ifReadable(() => partsOf?.(section, sections)) ?? []),
    ]);
  };
};

const DOUBLE = '__';

/**
 * How many of a name are taken over: at first all, later as many as were begun. Only anonymous
 * sections can be there several times.
 */
const limiterOf = (begun: ReadonlySet<string>) => {
  const doubles = Map.groupBy(begun, (key) => key.replace(/__\d+$/, ''));
  return (key: string, sections: readonly UciSection[]): readonly UciSection[] => {
    if (!begun.has(key)) return sections;
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

/** Anonymous sections, and objects whose names ours cannot be, get ours; parts have their own. */
const ownNameOf = (section: UciSection, claim: Claim, taken: ReadonlySet<string>): string => {
  const isPart = ifReadable(() => claim.kind.uci?.icn?.nameOf(section)) === undefined;
  return isPart || section.name === claim.sectionName
    ? section.name
    : free(claim.sectionName, taken);
};
