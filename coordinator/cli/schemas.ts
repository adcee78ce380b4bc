/** The shapes of JSON output, by the name of their file in docs/schemas. */
import type * as z from 'zod';
import { rulesViewSchema } from './rules/view.ts';
import { statusViewSchema } from './status/view.ts';

export const schemas: Readonly<Record<string, z.ZodType>> = {
  rules: rulesViewSchema,
  status: statusViewSchema,
};
