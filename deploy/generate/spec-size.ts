/** How large a spec can be that its schema accepts, as JSON. */
import type { Schema } from './crd.ts';

const INTEGER = 20;
const FALSE = 5;
/** Length of an annotation or a label, and so of any map's key. */
const KEY = 317;

/** In characters. @throws when something in it has no bound, which `path` names */
export const largestOf = (schema: Schema, path: string): number => {
  const { properties, items, enum: words } = schema;
  const bound = (name: string): number => {
    const value = schema[name];
    if (typeof value !== 'number')
      throw new Error(`${path}: needs ${name}, so that it has a bound`);
    return value;
  };
  if (words) return 2 + Math.max(...words.map(({ length }) => length));
  if (schema.type === 'integer') return INTEGER;
  if (schema.type === 'boolean') return FALSE;
  if (schema.type === 'array')
    return 2 + bound('maxItems') * (1 + largestOf(items ?? {}, `${path}[]`));
  if (items) return 2 + bound('maxProperties') * (KEY + 4 + largestOf(items, `${path}{}`));
  if (properties)
    return Object.entries(properties)
      .map(([name, field]) => name.length + 4 + largestOf(field, `${path}.${name}`))
      .reduce((sum, length) => sum + length, 2);
  return schema.type === 'object' ? 2 : 2 + bound('maxLength');
};
