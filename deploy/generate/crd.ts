/**
 * Makes CustomResourceDefinitions out of the kinds' zod schemas. What a structural schema cannot say must not vanish silently:
 * every construct that this file does not know is an error that names its place.
 */
import { generatorStatusSchema } from '#shared/protocol/generator-status.ts';
import { ruleStatusSchema } from '#shared/protocol/status.ts';
import type { KindDefinition } from '#shared/resources/kind.ts';
import { PURPOSE_LABEL } from '#shared/names.ts';
import * as z from 'zod';

/** A structural schema, as far as this product uses one. */
export type Schema = {
  type?: string;
  description?: string;
  properties?: Record<string, Schema>;
  items?: Schema;
  required?: readonly string[];
  enum?: readonly string[];
  format?: string;
  minimum?: number;
  maximum?: number;
  'x-kubernetes-int-or-string'?: true;
  'x-kubernetes-validations'?: readonly ValidationRule[];
  /** Keywords that pass through. */
  [key: string]: unknown;
};

type ValidationRule = { rule: string; message: string; fieldPath?: string };

/** `kubectl get sdewan` lists the CRs of all kinds. */
const CATEGORY = 'sdewan';

export const crdOf = (kind: KindDefinition) => ({
  apiVersion: 'apiextensions.k8s.io/v1',
  kind: 'CustomResourceDefinition',
  metadata: { name: `${kind.plural}.${kind.group}` },
  spec: {
    group: kind.group,
    scope: kind.scope,
    names: {
      kind: kind.kind,
      listKind: `${kind.kind}List`,
      plural: kind.plural,
      singular: kind.singular,
      shortNames: kind.shortNames,
      categories: [CATEGORY],
    },
    versions: [
      {
        name: kind.version,
        served: true,
        storage: true,
        subresources: { status: {} },
        additionalPrinterColumns: printerColumns(kind),
        schema: { openAPIV3Schema: rootSchema(kind) },
      },
    ],
  },
});

const printerColumns = ({ generates }: KindDefinition) => [
  { name: 'Purpose', type: 'string', jsonPath: `.metadata.labels.${PURPOSE_LABEL}` },
  {
    name: 'Applied',
    type: 'string',
    jsonPath: generates ? '.status.children.summary' : '.status.pods.summary',
  },
  { name: 'In Sync', type: 'boolean', jsonPath: '.status.inSync' },
  { name: 'Age', type: 'date', jsonPath: '.metadata.creationTimestamp' },
  { name: 'Message', type: 'string', jsonPath: '.status.message', priority: 1 },
];

/** The schema of the kind's spec, with the rules that concern several fields. */
export const specSchemaOf = (kind: KindDefinition): Schema =>
  withRules(
    schemaOf(kind.spec, `${kind.kind}.spec`),
    (kind.specRules ?? []).map(({ cel, message, path }) => ({
      rule: cel,
      message,
      fieldPath: path.replace(/^spec/, ''),
    })),
  );

const rootSchema = (kind: KindDefinition): Schema => {
  const spec = specSchemaOf(kind);
  const root: Schema = {
    type: 'object',
    description: kind.description,
    properties: {
      apiVersion: { type: 'string' },
      kind: { type: 'string' },
      metadata: { type: 'object' },
      spec,
      status: {
        ...schemaOf(
          kind.generates ? generatorStatusSchema : ruleStatusSchema,
          `${kind.kind}.status`,
        ),
        description: 'Written by the coordinator.',
      },
    },
    ...(spec.required ? { required: ['spec'] } : {}),
  };
  return withRules(
    root,
    (kind.nameRules ?? []).map(({ cel, message }) => ({ rule: cel, message })),
  );
};

const withRules = (schema: Schema, rules: readonly ValidationRule[]): Schema =>
  rules.length === 0 ? schema : { ...schema, 'x-kubernetes-validations': rules };

export const schemaOf = (schema: z.ZodType, path: string): Schema =>
  structural(z.toJSONSchema(schema, { io: 'input' }), path);

/** Taken over as they are. */
const PLAIN_KEYS = new Set([
  'type',
  'description',
  'required',
  'enum',
  'format',
  'pattern',
  'minLength',
  'maxLength',
  'minItems',
  'maxItems',
  'maxProperties',
  'minimum',
  'maximum',
]);

/** Several types at once are what becomes of a union of plain ones. */
const isPlain = (key: string, value: unknown): boolean =>
  key.startsWith('x-kubernetes-') ||
  (PLAIN_KEYS.has(key) && !(key === 'type' && Array.isArray(value)));

/** The subset of JSON schema that CustomResourceDefinitions know, children included. */
const structural = (schema: object, path: string): Schema => {
  const result: Schema = {};
  const isIntOrString = 'x-kubernetes-int-or-string' in schema;
  for (const [key, value] of Object.entries(schema).sort(byReadability)) {
    if (isIntOrString && (key === 'type' || key === 'anyOf')) continue;
    if (isPlain(key, value)) result[key] = value;
    else if (key === 'properties') result[key] = childrenOf(value, path);
    else if (key === 'items' || isMapValue(schema, key, value))
      result[key] = structural(value, `${path}[]`);
    else if (!isDropped(schema, key, value)) {
      throw new Error(`${path}: a CRD cannot say ${key}: ${JSON.stringify(value)}`);
    }
  }
  return result.type === 'integer' ? plainInteger(result) : result;
};

/** Without what zod adds to every integer: the range of exact numbers in JavaScript. */
const plainInteger = ({ minimum, maximum, ...rest }: Schema): Schema => ({
  ...rest,
  format: 'int64',
  ...(minimum === Number.MIN_SAFE_INTEGER ? {} : { minimum }),
  ...(maximum === Number.MAX_SAFE_INTEGER ? {} : { maximum }),
});

/** What a reader looks for first comes first. */
const byReadability = ([a]: [string, unknown], [b]: [string, unknown]): number => rank(a) - rank(b);
const FIRST = ['type', 'description'];
const rank = (key: string): number => (FIRST.includes(key) ? FIRST.indexOf(key) : FIRST.length);

const childrenOf = (properties: object, path: string): Record<string, Schema> =>
  Object.fromEntries(
    Object.entries(properties).map(([name, child]) => [name, structural(child, `${path}.${name}`)]),
  );

/** Maps have to be bounded. */
const isMapValue = (schema: object, key: string, value: unknown): value is object =>
  key === 'additionalProperties' && 'maxProperties' in schema && typeof value === 'object';

/**
 * The API server prunes unknown fields by itself, and refuses `additionalProperties: false`. What the keys of a map may be, a
 * rule has to say.
 */
const isDropped = (schema: object, key: string, value: unknown): boolean =>
  key === '$schema' ||
  (key === 'additionalProperties' && value === false) ||
  (key === 'propertyNames' && 'maxProperties' in schema);
