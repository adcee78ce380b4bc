/** What agents and coordinators say to each other, with each field at its bound, and beyond. */
import { describe, expect, it } from 'vitest';
import type * as z from 'zod';
import { apiServerAnswerSchema } from './api-server.ts';
import { fleetOrderSchema, reportSchema } from './report.ts';
import { beyondEach, largestOf } from './testing.ts';

const MESSAGES: Record<string, z.ZodType> = {
  // Information has a bound on all of it: information.test.ts.
  'a report': reportSchema.omit({ information: true }),
  'an order': fleetOrderSchema,
  'an answer about the API server': apiServerAnswerSchema,
};

describe.each(Object.entries(MESSAGES))('%s', (_, schema) => {
  it('is taken with each field at its bound', () => {
    expect(schema.safeParse(largestOf(schema)).error).toBeUndefined();
  });

  it('is refused with any field beyond, or taken without that', () => {
    const values = [...beyondEach(schema)];
    const taken = values.filter(([path, value]) => {
      const { data, success } = schema.safeParse(value);
      const [, first = ''] = path.split(/[.[]/);
      return success && Object(data)[first] !== undefined;
    });
    expect(taken.map(([path]) => path)).toEqual([]);
  });
});
