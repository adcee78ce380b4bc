/**
 * What has to be written so that a CR has just the children that it should have. Pure. A child that
 * is right already is left alone whatever its number, so that the order of DNS answers changes
 * nothing; one that is not needed any more is used for another.
 */
import { isIP } from 'node:net';
import { isDeepStrictEqual } from 'node:util';
import * as z from 'zod';
import type { RuleObject } from '#shared/kube/objects.ts';
import { withoutLength } from '#shared/policy/address-blocks.ts';
import type { Child } from '#shared/resources/generation.ts';
import { isStaying } from '../write.ts';
import type { Family } from './dns-lookup.ts';

/** A child as it has to be. */
export type Wanted = Child & { name: string };

export type Plan = {
  /** `present`: the one that is that child, or becomes it. */
  keep: readonly { wanted: Wanted; present: RuleObject | undefined }[];
  remove: readonly RuleObject[];
  /** Neither wanted nor to be removed, as far as is known. */
  waiting: readonly RuleObject[];
};

/**
 * `present`: the children that are there, those that are being deleted included; their names stay
 * taken until they are gone. `unknown`: address families of which it is not known what there should
 * be: children of theirs stay.
 */
export const planChildren = (
  parent: string,
  children: readonly Child[],
  present: readonly RuleObject[],
  unknown: ReadonlySet<Family> = new Set(),
): Plan => {
  const isFree = (one: RuleObject): boolean => !familiesIn(one).some((each) => unknown.has(each));
  const left = new Set(present.filter(isStaying));
  const take = (
    those: readonly RuleObject[],
    isRight: (one: RuleObject) => boolean,
  ): RuleObject | undefined => {
    const found = those.find((one) => left.has(one) && isRight(one));
    if (found) left.delete(found);
    return found;
  };
  const groups = Map.groupBy(children, ({ kind, suffix }) => `${kind}/${suffix}`);
  const keep = [...groups.values()].flatMap((group) => {
    const those = alike(parent, group[0], present);
    const names = namesFor(parent, group[0], those);
    const right = group.map((child) =>
      take(those, ({ spec }) => isDeepStrictEqual(spec, child.spec)),
    );
    return group.map((child, at) => {
      const one = right[at] ?? take(those, isFree);
      return { present: one, wanted: { ...child, name: one?.metadata.name ?? names() } };
    });
  });
  const rest = [...left];
  return {
    keep,
    remove: rest.filter(isFree),
    waiting: rest.filter((one) => !isFree(one)),
  };
};

/** Families of all addresses and networks that its spec holds. */
const familiesIn = ({ spec }: RuleObject): Family[] =>
  Object.values(textsSchema.safeParse(spec).data ?? {}).flatMap((text): Family[] => {
    const version = isIP(withoutLength(text));
    return version === 4 || version === 6 ? [version] : [];
  });

/** As children have it: what we make is nothing but texts. */
const textsSchema = z.record(z.string(), z.coerce.string());

/**
 * Those of that kind whose name is the parent's with the suffix, and a number where there can be
 * several; by their numbers.
 */
const alike = (
  parent: string,
  child: Child | undefined,
  present: readonly RuleObject[],
): RuleObject[] => {
  const stem = `${parent}${child?.suffix}`;
  const numberOf = ({ metadata: { name } }: RuleObject): string => name.slice(stem.length);
  const isNumber = child?.numbered ? /^\d+$/ : /^$/;
  return present
    .filter((one) => one.kind === child?.kind && one.metadata.name.startsWith(stem))
    .filter((one) => isNumber.test(numberOf(one)))
    .sort((one, other) => Number(numberOf(one)) - Number(numberOf(other)));
};

/** The lowest numbers that are not in use. */
const namesFor = (parent: string, child: Child | undefined, those: readonly RuleObject[]) => {
  const used = new Set(those.map(({ metadata }) => metadata.name));
  const stem = `${parent}${child?.suffix}`;
  let next = 0;
  return (): string => {
    if (!child?.numbered) return stem;
    while (used.has(`${stem}${next}`)) next += 1;
    next += 1;
    return `${stem}${next - 1}`;
  };
};
