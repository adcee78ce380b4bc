import { describe, expect, it } from 'vitest';
import * as z from 'zod';
import { inspectionSchema } from '../protocol/inspection.ts';
import { parseUntrusted, recordOf } from './untrusted.ts';

const zeros = Array.from({ length: 100 }, () => 0);
const byNumber = Object.fromEntries(zeros.entries());

describe('untrusted', () => {
  it.each<[string, z.ZodType, unknown]>([
    ['a list', z.array(z.string()), zeros],
    ['a list in an object', z.object({ some: z.array(z.string()) }), { some: zeros }],
    ['lists that are one of two', z.array(z.union([z.string(), z.array(z.string())])), [zeros]],
    ['a list of objects', z.array(z.looseObject({ one: z.string() })), zeros],
    ['a record', recordOf(z.string()), byNumber],
    ['a record beside keys', z.object({ a: z.string() }).catchall(z.string()), byNumber],
    ['an inspection', inspectionSchema.pick({ rules: true }), { rules: zeros }],
    [
      'options of an inspection',
      inspectionSchema.pick({ packages: true }),
      {
        packages: [
          { name: '', wanted: [{ name: '', anonymous: true, type: '', options: byNumber }] },
        ],
      },
    ],
  ])('names only the first that is wrong in %s', (_what, schema, value) => {
    expect(parseUntrusted(schema, value).error?.issues).toHaveLength(1);
  });

  it('gives what is right, with all of its keys', () => {
    const schema = z.object({ some: recordOf(z.array(z.string())) });
    const value = { some: { b: ['1'], a: [] } };
    expect(parseUntrusted(schema, value).data).toEqual(value);
  });
});
