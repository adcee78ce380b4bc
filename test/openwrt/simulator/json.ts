/** JSON values, as ubus and the control API pass them. */
export type Json = string | number | boolean | null | readonly Json[] | JsonObject;
export type JsonObject = { readonly [key: string]: Json };

/** Undefined for text that is no JSON. */
export const parseJson = (text: string): Json | undefined => {
  try {
    const value: Json = JSON.parse(text);
    return value;
  } catch {
    return undefined;
  }
};

export const isArray = (value: Json | undefined): value is readonly Json[] => Array.isArray(value);

export const isObject = (value: Json | undefined): value is JsonObject =>
  typeof value === 'object' && value !== null && !Array.isArray(value);

/** The strings of an array; '' for none. */
export const stringsOf = (value: Json | undefined): string[] =>
  isArray(value) ? value.filter((item) => typeof item === 'string') : [];

/** The same value with every string in it, keys too, converted. */
export const convertStrings = (value: Json, convert: (text: string) => string): Json => {
  if (typeof value === 'string') return convert(value);
  if (isArray(value)) return value.map((item) => convertStrings(item, convert));
  if (!isObject(value)) return value;
  return Object.fromEntries(
    Object.entries(value).map(([key, item]) => [convert(key), convertStrings(item, convert)]),
  );
};
