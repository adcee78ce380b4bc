import { RULE_GROUP, RULE_VERSION } from '#shared/names.ts';
import type { KindDefinition } from '#shared/resources/kind.ts';
import { describe, expect, it } from 'vitest';
import { resources } from '#shared/resources/resources.ts';
import { objectSchema } from '#shared/kube/objects.ts';
import * as z from 'zod';
import { crdOf, specSchemaOf, type Schema } from './crd.ts';

const kindWith = (spec: z.ZodType): KindDefinition => ({
  group: RULE_GROUP,
  version: RULE_VERSION,
  scope: 'Namespaced',
  kind: 'Example',
  plural: 'examples',
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
    ['unknown keys', z.strictObject({ field: z.record(z.string(), z.string()) })],
  ])('refuses %s, naming the place', (_what, spec) => {
    expect(() => specSchemaOf(kindWith(spec))).toThrow('Example.spec.field: a CRD cannot say');
  });

  it('says a default, of a field that need not be given', () => {
    expect(specSchemaOf(kindWith(z.strictObject({ field: z.string().default('x') })))).toEqual({
      type: 'object',
      properties: { field: { type: 'string', default: 'x' } },
    });
  });

  it('keeps what is unknown of an object where it is told to, beside the fields that it knows', () => {
    const kept = z
      .looseObject({ a: z.string() })
      .meta({ 'x-kubernetes-preserve-unknown-fields': true });
    expect(specSchemaOf(kindWith(z.strictObject({ kept }))).properties?.['kept']).toEqual({
      type: 'object',
      'x-kubernetes-preserve-unknown-fields': true,
      properties: { a: { type: 'string' } },
      required: ['a'],
    });
  });

  it('puts rules about several fields at the fields that they concern', () => {
    const rule = { path: 'spec.a', cel: 'has(self.b)', message: 'needs b', holds: () => true };
    const kind = { ...kindWith(z.strictObject({ a: z.string() })), specRules: [rule] };
    expect(specSchemaOf(kind)['x-kubernetes-validations']).toEqual([
      { rule: 'has(self.b)', message: 'needs b', fieldPath: '.a' },
    ]);
  });
});

describe('kubectl explain', () => {
  const rootOf = (resource: (typeof resources)[number]): Schema => {
    const [version] = crdOf(resource).spec.versions;
    return version?.schema.openAPIV3Schema ?? {};
  };
  const fieldsOf = (schema: Schema, path: string): [string, Schema][] => [
    [path, schema],
    ...Object.entries(schema.properties ?? {}).flatMap(([name, field]) =>
      fieldsOf(field, `${path}.${name}`),
    ),
    ...(schema.items ? fieldsOf(schema.items, `${path}[]`) : []),
  ];

  it.each(resources.map((resource) => [resource.kind, resource] as const))(
    'describes each field of the spec of %s, and its conditions',
    (_kind, resource) => {
      const { spec = {}, status = {} } = rootOf(resource).properties ?? {};
      const { conditions } = status.properties ?? {};
      const fields = [...fieldsOf(spec, 'spec'), ...(conditions ? fieldsOf(conditions, 'c') : [])];
      const silent = fields.filter(
        ([path, { description }]) => !path.endsWith('[]') && !description,
      );
      expect(silent.map(([path]) => path)).toEqual([]);
    },
  );

  it.each(resources.map((resource) => [resource.kind, resource] as const))(
    'says of each field of %s that is text or number what can be written, with examples',
    (_kind, resource) => {
      const fields = fieldsOf(rootOf(resource), '').filter(
        ([, field]) => field['x-kubernetes-int-or-string'],
      );
      for (const [, { description }] of fields)
        expect(description).toMatch(/Text or a number\. It must .+\. For example .+\.$/);
    },
  );

  it('shows the form of ports', () => {
    const rule = resources.find(({ kind }) => kind === 'FirewallRule');
    const spec = rule && rootOf(rule).properties?.['spec'];
    expect(spec?.properties?.['dest_port']?.description).toBe(
      'Destination ports; tcp and udp only. Text or a number. It must be ports from 1 to 65535 or ranges such as 8000-8100, without leading zeros, separated by blanks, each with "!" in front to negate it. For example 443, "80 8000-8100", "!22".',
    );
  });

  it('has examples only that the schema accepts', () => {
    const refused = fieldsOf(
      { properties: Object.fromEntries(resources.map((one) => [one.kind, specSchemaOf(one)])) },
      '',
    ).flatMap(([path, { 'x-examples': examples = [], 'x-kubernetes-validations': rules = [] }]) => {
      const patterns = rules.flatMap(({ rule }) => /matches\('(.*)'\)$/.exec(rule)?.[1] ?? []);
      return examples
        .filter((example) =>
          patterns.some(
            (pattern) => !new RegExp(pattern.replaceAll('\\\\', '\\')).test(`${example}`),
          ),
        )
        .map((example) => `${path}: ${example}`);
    });
    expect(refused).toEqual([]);
  });
});
