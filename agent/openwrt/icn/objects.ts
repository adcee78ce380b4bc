/** Between the API's objects and sections: what is written and read back compares as it means. */
import * as z from 'zod';
import { objectText } from '#shared/resources/icn.ts';
import { VTI_BASED } from '#shared/resources/rules/ipsec-remote-fields.ts';
import type { UciSection, UciValue } from '#shared/uci/model.ts';
import type { Collection } from './collections.ts';

/** How many objects bear the name, if not one: the API stores a second one without a word. */
const COPIES = '#copies';
/** Whether the kernel lacks what the object asks of it. */
const NOT_IN_FORCE = '#not in force';

const objectSchema = z.looseObject({ name: z.string() });
export type RestObject = z.infer<typeof objectSchema>;
/** An empty table of Lua is a list. */
export const listSchema = (key: string) =>
  z
    .object({ [key]: z.array(objectSchema) })
    .transform((list): readonly RestObject[] => list[key] ?? []);

/** In the order of the list, which orders the sections; of one name the last place counts. */
export const sectionsOf = (
  collection: Collection,
  objects: readonly RestObject[],
): readonly UciSection[] => {
  const sections = new Map<string, UciSection>();
  const copies = new Map<string, number>();
  for (const object of objects) {
    const { name } = object;
    const count = (copies.get(name) ?? 0) + 1;
    copies.set(name, count);
    sections.delete(name);
    const section = sectionOf(collection, object);
    const options = count > 1 ? { ...section.options, [COPIES]: String(count) } : section.options;
    sections.set(name, { ...section, options });
  }
  return [...sections.values()];
};

export const isDoubled = ({ options }: UciSection): boolean => COPIES in options;

/** The same as something that differs from whatever is wanted, so that it is written anew. */
export const notInForce = (section: UciSection): UciSection => ({
  ...section,
  options: { ...section.options, [NOT_IN_FORCE]: '1' },
});
export const isNotInForce = ({ options }: UciSection): boolean => NOT_IN_FORCE in options;

export const sectionOf = (collection: Collection, { name, ...fields }: RestObject): UciSection => ({
  name,
  anonymous: false,
  type: collection.key,
  options: Object.fromEntries(
    Object.entries(fields)
      .filter(([field]) => !isMade(collection, field, fields[field]))
      .map(([field, value]): [string, UciValue] => [
        field,
        valueOf(resolved(value, fields[`${field}${RESOLVED}`])),
      ])
      .filter(([, value]) => value.length > 0),
  ),
});

/** Behind the name of a field: the device that the API found for it. */
const RESOLVED = '_val';

/** A device that was asked for by what it is for is the one that is in force. */
const resolved = (value: unknown, found: unknown): unknown =>
  typeof value === 'string' && value.startsWith('#') && found !== undefined ? found : value;

/** What the API adds by itself, or what means nothing. */
const isMade = ({ key }: Collection, field: string, value: unknown): boolean =>
  field.endsWith(RESOLVED) ||
  (key === 'remotes' &&
    ((field === 'enabled' && value === '1') || (field === 'type' && value !== VTI_BASED)));

const valueOf = (value: unknown): UciValue => {
  if (Array.isArray(value)) return value.map((item: unknown) => itemOf(item));
  // Only flag is one, and false is its absence.
  if (typeof value === 'boolean') return value ? '1' : '';
  return textOf(value);
};

const textOf = (value: unknown): string =>
  typeof value === 'string' ? value : typeof value === 'number' ? String(value) : '';

const itemOf = (item: unknown): string => {
  const nested = z.record(z.string(), z.unknown()).safeParse(item);
  if (!nested.success) return textOf(item);
  // Members have a name which the API makes.
  const { name, ...rest } = nested.data;
  const isMember = 'weight' in rest || 'metric' in rest;
  return objectText(
    Object.fromEntries(
      Object.entries(isMember ? rest : { name, ...rest }).map(([field, value]) => [
        field,
        valueOf(value),
      ]),
    ),
  );
};

export const bodyOf = (
  collection: Collection,
  { name, options }: UciSection,
  also: Readonly<Record<string, string>> = {},
): string =>
  JSON.stringify({
    name,
    ...also,
    ...Object.fromEntries(
      Object.entries(options)
        .filter(([field]) => !field.startsWith('#'))
        .map(([field, value]) => [field, toJson(collection, field, value)]),
    ),
  });

const toJson = ({ nested, package: name }: Collection, field: string, value: UciValue): unknown => {
  if (field === nested) return [value].flat().map((text): unknown => JSON.parse(text));
  // As text it would be in force, and read back, and removed as if it were not set (measured).
  if (name === 'rule/rules' && field === 'flag') return value === '1';
  return value;
};
