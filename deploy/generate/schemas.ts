/** docs/schemas: JSON schemas of what `sdewan … -o json` prints. */
import * as z from 'zod';
import { schemas } from '../../coordinator/cli/schemas.ts';

/** File name and text. Unknown fields are allowed: a later version may add some. */
export const outputSchemas = (): [string, string][] =>
  Object.entries(schemas).map(([name, schema]) => {
    const json = z.toJSONSchema(schema, { io: 'input' });
    return [`${name}.json`, `${JSON.stringify(json, null, 2)}\n`];
  });
