import { RULE_GROUP, RULE_VERSION } from '#shared/names.ts';
import type { KindDefinition } from '#shared/resources/kind.ts';
import { describe, expect, it } from 'vitest';
import { objectSchema } from '#shared/kube/objects.ts';
import * as z from 'zod';
import { specSchemaOf } from './crd.ts';

const kindWith = (spec: z.ZodType): KindDefinition => ({
  group: RULE_GROUP,
  version: RULE_VERSION,
  scope: 'Namespaced',
  kind: 'Example',
  plural: 'examples',
  singular: 'example',
  shortNames: [],
  description: 'An example.',
  schema: objectSchema,
  spec,
});

describe('specSchemaOf', () => {
  it('keeps to what structural schemas have', () => {
    const spec = z.strictObject({
      digits: z.union([z.string(), z.number()]).meta({ 'x-kubernetes-int-or-string': true }),
      number: z.int().min(1).optional().describe('A number.'),
      words: z
        .array(z.enum(['a', 'b']))
        .max(3)
        .optional(),
    });
    expect(specSchemaOf(kindWith(spec))).toEqual({
      type: 'object',
      properties: {
        digits: { 'x-kubernetes-int-or-string': true },
        number: { type: 'integer', format: 'int64', description: 'A number.', minimum: 1 },
        words: { type: 'array', maxItems: 3, items: { type: 'string', enum: ['a', 'b'] } },
      },
      required: ['digits'],
    });
  });

  it.each<[string, z.ZodType]>([
    ['a union', z.strictObject({ field: z.union([z.string(), z.boolean()]) })],
    ['a default, which would become required', z.strictObject({ field: z.string().default('x') })],
    ['unknown keys', z.strictObject({ field: z.record(z.string(), z.string()) })],
  ])('refuses %s, naming the place', (_what, spec) => {
    expect(() => specSchemaOf(kindWith(spec))).toThrow('Example.spec.field: a CRD cannot say');
  });

  it('puts rules about several fields at the fields that they concern', () => {
    const rule = { path: 'spec.a', cel: 'has(self.b)', message: 'needs b', holds: () => true };
    const kind = { ...kindWith(z.strictObject({ a: z.string() })), specRules: [rule] };
    expect(specSchemaOf(kind)['x-kubernetes-validations']).toEqual([
      { rule: 'has(self.b)', message: 'needs b', fieldPath: '.a' },
    ]);
  });
});
