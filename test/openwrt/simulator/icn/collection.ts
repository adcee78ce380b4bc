/** The five verbs on a collection, the same for every kind. */
import type { JsonObject } from '../json.ts';
import type { UciSection } from '../uci/package.ts';
import { luaError, Refusal } from './errors.ts';
import { shown, validate, valueOf, type Context, type Data, type Field } from './fields.ts';
import type { Draft } from './uci.ts';

export type Collection = {
  /** Key of the list, and last part of the path. */
  key: string;
  /** As messages name one object. */
  noun: string;
  package: string;
  type: string;
  /** Whether the object's name is the section's id, else `option name` of an anonymous section. */
  named: boolean;
  fields: readonly Field[];
  /**
   * After all fields, before the name is looked at; may complete the data. @throws Refusal,
   * LuaError
   */
  check?: (data: Data, context: Context) => Data;
  /** @throws Refusal */
  inUse?: (name: string, context: Context) => boolean;
  /**
   * In place of one section of the fields. What it leaves staged is committed after it. @throws
   * Refusal, LuaError
   */
  create?: (data: Data, name: string, context: Context) => void;
  show?: (section: UciSection, context: Context) => JsonObject;
  /** Before the sections go. `objects` are all that bear the name. @throws LuaError */
  beforeRemove?: (objects: readonly UciSection[], draft: Draft, context: Context) => void;
};

export const list = (collection: Collection, context: Context): JsonObject => ({
  [collection.key]: context.uci
    .sections(collection.package, collection.type)
    .map((section) => showOf(collection, section, context)),
});

/** @throws Refusal 404 */
export const get = (collection: Collection, name: string, context: Context): JsonObject => {
  const found = read(collection, name, context);
  if (!found) throw new Refusal(404, `Cannot find ${collection.noun}[${name}]`);
  return found;
};

/** Null when UCI took nothing. @throws Refusal, LuaError */
export const post = (
  collection: Collection,
  body: JsonObject,
  context: Context,
): JsonObject | null => {
  const data = checked(collection, body, context);
  const { name } = data;
  if (typeof name !== 'string') throw new Refusal(400, 'Field[name] checked failed: required');
  return store(collection, data, name, context);
};

/**
 * Removes and makes anew: the object is gone when the second half fails. @throws Refusal, LuaError
 */
export const put = (
  collection: Collection,
  name: string,
  { body, context }: { body: JsonObject; context: Context },
): JsonObject | null => {
  const data = checked(collection, body, context);
  remove(collection, name, context);
  return store(collection, { ...data, name }, name, context);
};

/** Removes every object of that name. @throws Refusal, LuaError */
export const drop = (collection: Collection, name: string, context: Context): void => {
  const { noun } = collection;
  const missing = find(collection, name, context).length === 0;
  if (missing) throw new Refusal(404, `${noun} ${name} is not defined`);
  if (collection.inUse?.(name, context)) throw new Refusal(400, `${noun} ${name} is used`);
  remove(collection, name, context);
};

const checked = (collection: Collection, body: JsonObject, context: Context): Data => {
  const data = validate(collection.fields, body, context);
  return collection.check?.(data, context) ?? data;
};

const store = (
  collection: Collection,
  data: Data,
  name: string,
  context: Context,
): JsonObject | null => {
  const { uci, by } = context;
  if (uci.load(collection.package).find(name)) throw new Refusal(409, 'Conflict');
  if (collection.create) collection.create(data, name, context);
  else createSection(collection, data, name, context);
  uci.commit(collection.package, by);
  return read(collection, name, context) ?? null;
};

export const createSection = (
  { package: packageName, type, named, fields }: Collection,
  data: Data,
  name: string,
  { uci }: Context,
): void => {
  const draft = uci.open(packageName);
  const section = draft.add(type, named ? name : undefined);
  for (const { name: field, option = field } of fields) {
    const value = data[field];
    if (value !== undefined && !(named && field === 'name'))
      draft.set(section, option, valueOf(value));
  }
  draft.stage();
};

const remove = (collection: Collection, name: string, context: Context): void => {
  const found = find(collection, name, context);
  if (found.length === 0) return;
  const draft = context.uci.open(collection.package);
  collection.beforeRemove?.(found, draft, context);
  for (const section of found) draft.remove(section.name);
  draft.stage();
  context.uci.commit(collection.package, context.by);
};

const find = (
  { package: name, type }: Collection,
  wanted: string,
  { uci }: Context,
): UciSection[] =>
  uci
    .sections(name, type)
    .filter((section) => section.name === wanted || section.options.get('name') === wanted);

/** By id first, where another type counts as none; then by `option name`. */
const read = (collection: Collection, name: string, context: Context): JsonObject | undefined => {
  const { sections } = context.uci.load(collection.package);
  const byId = sections.find((section) => section.name === name);
  const found =
    byId ??
    sections.find(
      (section) => section.type === collection.type && section.options.get('name') === name,
    );
  return found?.type === collection.type ? showOf(collection, found, context) : undefined;
};

const showOf = (collection: Collection, section: UciSection, context: Context): JsonObject =>
  collection.show?.(section, context) ?? shown(collection.fields, section);

/**
 * A collection that does not exist but whose path begins like one that does, as a query string
 * makes it.
 */
export const unknownCollection = (): Error =>
  luaError('utils.lua:302', "attempt to index field '?' (a nil value)");
