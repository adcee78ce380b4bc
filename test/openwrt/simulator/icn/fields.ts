/**
 * Fields of REST objects and how a body is checked against them: in their order, the first failure
 * is the answer. No field is ever required, though ICN's source says so, and unknown ones are
 * dropped.
 */
import type { Cause } from '../journal.ts';
import { isArray, isObject, type Json, type JsonObject } from '../json.ts';
import type { UciSection, UciValue } from '../uci/package.ts';
import { Refusal } from './errors.ts';
import type { Kernel } from './kernel/kernel.ts';
import type { IcnUci } from './uci.ts';

/** What the handling of one request may use. */
export type Context = {
  uci: IcnUci;
  kernel: Kernel;
  by: Cause;
  /** The place on this machine of a path of the device. */
  path: (devicePath: string) => string;
};

/** True, or the detail that stands in brackets ('' for none). `undefined` stands for Lua's nil. */
export type Check = (value: Json | undefined, context: Context) => true | string;

export type Field = {
  name: string;
  /** UCI option where it is not the name. */
  option?: string;
  list?: boolean;
  /** Made by the object's own check; never taken from a body. */
  internal?: boolean;
  check?: Check;
  /** After `checked failed: `. */
  message?: string;
  /** 400 when absent. */
  status?: number;
  /** A list of objects with these fields; the check's detail is what their check said. */
  items?: readonly Field[];
};

/** Checked values: texts trimmed, lists as they came. */
export type Data = Readonly<Record<string, Json>>;

/** @throws Refusal */
export const validate = (fields: readonly Field[], body: JsonObject, context: Context): Data => {
  const data: Record<string, Json> = {};
  for (const field of fields) {
    const given = field.internal ? undefined : givenOf(body, field.name);
    const value = given === undefined ? undefined : checked(field, given, context);
    if (value !== undefined) data[field.name] = value;
  }
  return data;
};

/** Trimmed; undefined for null and blanks as well. */
const givenOf = (body: JsonObject, name: string): Json | undefined => {
  const value = Object.hasOwn(body, name) ? body[name] : undefined;
  const given = typeof value === 'string' ? value.trim() : value;
  return given === null || given === '' ? undefined : given;
};

const checked = (field: Field, given: Json, context: Context): Json | undefined => {
  if (field.items || field.list) return list(field, given, context);
  assert(field, given, context);
  return given;
};

/**
 * A text counts as that many nils, as `#` counts its bytes: harmless to some checks, and then
 * nothing is left.
 */
const list = (field: Field, given: Json, context: Context): Json | undefined => {
  const items = isArray(given)
    ? given
    : Array.from({ length: typeof given === 'string' ? given.length : 0 }, () => undefined);
  if (items.length === 0) throw failure(field, 'Not an array');
  if (field.items) {
    const { items: fields } = field;
    return items.map((item) => nested(field, fields, item, context));
  }
  for (const item of items) assert(field, item, context);
  return isArray(given) ? given : undefined;
};

const nested = (
  field: Field,
  fields: readonly Field[],
  item: Json | undefined,
  context: Context,
): JsonObject => {
  try {
    return validate(fields, isObject(item) ? item : {}, context);
  } catch (error) {
    if (!(error instanceof Refusal)) throw error;
    throw failure(field, `${error.status === 400 ? '' : `${error.status}:`}${error.message}`);
  }
};

const assert = (field: Field, value: Json | undefined, context: Context): void => {
  const result = field.check?.(value, context) ?? true;
  if (result !== true) throw failure(field, result);
};

const failure = ({ name, message = '', status = 400 }: Field, detail: string): Refusal =>
  new Refusal(
    status,
    `Field[${name}] checked failed: ${message}${detail === '' ? '' : ` [${detail}]`}`,
  );

/** What is written for the value: byte strings. */
export const valueOf = (value: Json): UciValue =>
  isArray(value) ? value.map(asText) : asText(value);

/** As UCI holds a single value. */
export const asText = (value: Json): string => {
  if (typeof value === 'boolean') return value ? '1' : '0';
  return typeof value === 'string' ? value : JSON.stringify(value);
};

/** A section as REST shows it. Lists that were written as options are shown as lists. */
export const shown = (fields: readonly Field[], section: UciSection): JsonObject => {
  const object: Record<string, Json> = { name: nameOf(section) };
  for (const { name, option = name, list: isList } of fields) {
    const value = section.options.get(option);
    if (name !== 'name' && value !== undefined)
      object[name] = isList && typeof value === 'string' ? [value] : value;
  }
  return object;
};

/** `option name`, else the section's id. */
export const nameOf = (section: UciSection): string => {
  const name = section.options.get('name');
  return typeof name === 'string' ? name : section.name;
};
