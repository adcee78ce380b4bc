/**
 * What has to be written so that a CR has just the children that it should have. Pure. A child that is right already is left alone
 * whatever its number, so that the order of DNS answers changes nothing; one that is not needed any more is used for another.
 */
import { isIP } from 'node:net';
import { isDeepStrictEqual } from 'node:util';
import * as z from 'zod';
import type { RuleObject } from '#shared/kube/objects.ts';
import type { Child } from '#shared/resources/generation.ts';
import type { Family } from './lookup.ts';

/** A child as it has to be. */
export type Wanted = Child & { name: string };

export type Plan = {
  create: readonly Wanted[];
  update: readonly { present: RuleObject; wanted: Wanted }[];
  remove: readonly RuleObject[];
  /** Neither wanted nor to be removed, as far as is known. */
  waiting: readonly RuleObject[];
};

/**
 * `present`: the children that are there, those that are being deleted included; their names stay taken until they are gone.
 * `unknown`: address families of which it is not known what there should be: children of theirs stay.
 */
export const planChildren = (
  parent: string,
  children: readonly Child[],
  present: readonly RuleObject[],
  unknown: ReadonlySet<Family> = new Set(),
): Plan => {
  const staying = present.filter(({ metadata }) => metadata.deletionTimestamp === undefined);
  const groups = Map.groupBy(children, ({ kind, suffix }) => `${kind}/${suffix}`);
  const isFree = (one: RuleObject): boolean => !familiesIn(one).some((each) => unknown.has(each));
  const assigned = [...groups.values()].flatMap((group) =>
    assign(parent, group, { staying, all: present, isFree }),
  );
  const kept = new Set(assigned.map(({ present: one }) => one));
  return {
    create: assigned.flatMap(({ present: one, wanted }) => (one ? [] : [wanted])),
    update: assigned.flatMap(({ present: one, wanted }) => (one ? [{ present: one, wanted }] : [])),
    remove: staying.filter((one) => !kept.has(one) && isFree(one)),
    waiting: staying.filter((one) => !kept.has(one) && !isFree(one)),
  };
};

/** Of all addresses and networks that its spec holds. */
const familiesIn = ({ spec }: RuleObject): Family[] =>
  Object.values(textsSchema.safeParse(spec).data ?? {}).flatMap((text): Family[] => {
    const version = isIP(text.split('/')[0] ?? '');
    return version === 4 || version === 6 ? [version] : [];
  });

/** As children have it: what we make is nothing but texts. */
const textsSchema = z.record(z.string(), z.coerce.string());

type Assignment = { present: RuleObject | undefined; wanted: Wanted };

type There = {
  staying: readonly RuleObject[];
  all: readonly RuleObject[];
  /** Whether it may become another. */
  isFree: (one: RuleObject) => boolean;
};

const assign = (
  parent: string,
  group: readonly Child[],
  { staying, all, isFree }: There,
): Assignment[] => {
  const [first] = group;
  if (!first) return [];
  const stem = `${parent}${first.suffix}`;
  const isOfGroup = ({ kind, metadata: { name } }: RuleObject): boolean =>
    kind === first.kind &&
    name.startsWith(stem) &&
    (first.numbered ? /^\d+$/ : /^$/).test(name.slice(stem.length));
  const free = staying.filter(isOfGroup).sort(byNumber(stem));
  const names = namesFor(stem, first, new Set(all.filter(isOfGroup).map(nameOf)));
  const right = group.map((child) => take(free, ({ spec }) => isDeepStrictEqual(spec, child.spec)));
  return group.map((child, at) => {
    const present = right[at] ?? take(free, isFree);
    return { present, wanted: { ...child, name: present?.metadata.name ?? names() } };
  });
};

const take = (
  free: RuleObject[],
  holds: (object: RuleObject) => boolean,
): RuleObject | undefined => {
  const at = free.findIndex(holds);
  return at === -1 ? undefined : free.splice(at, 1)[0];
};

/** The lowest numbers that are not in use. */
const namesFor = (stem: string, { numbered }: Child, used: ReadonlySet<string>): (() => string) => {
  let next = 0;
  return () => {
    if (!numbered) return stem;
    while (used.has(`${stem}${next}`)) next += 1;
    next += 1;
    return `${stem}${next - 1}`;
  };
};

const nameOf = ({ metadata }: RuleObject): string => metadata.name;

const byNumber =
  (stem: string) =>
  (a: RuleObject, b: RuleObject): number =>
    Number(nameOf(a).slice(stem.length)) - Number(nameOf(b).slice(stem.length));
