/**
 * Makes CustomResourceDefinitions out of the resources' zod schemas. What a structural schema
 * cannot say must not vanish silently: every construct that this file does not know is an error
 * that names its place.
 */
import type { Resource } from '#shared/resources/resource.ts';
import * as z from 'zod';

/** A structural schema, as far as this product uses one. */
export type Schema = {
  type?: string;
  description?: string;
  properties?: Record<string, Schema>;
  items?: Schema;
  additionalProperties?: Schema;
  required?: readonly string[];
  enum?: readonly string[];
  format?: string;
  minimum?: number;
  maximum?: number;
  'x-kubernetes-int-or-string'?: true;
  /** Examples of what is text or number. */
  'x-examples'?: readonly (string | number)[];
  'x-kubernetes-validations'?: readonly ValidationRule[];
  /** Keywords that pass through. */
  [key: string]: unknown;
};

/** A default as people read it. */
export const textOf = (value: unknown): string =>
  typeof value === 'string' ? value : JSON.stringify(value);

type ValidationRule = { rule: string; message: string; fieldPath?: string };

export const crdOf = (resource: Resource) => ({
  apiVersion: 'apiextensions.k8s.io/v1',
  kind: 'CustomResourceDefinition',
  metadata: { name: `${resource.plural}.${resource.group}` },
  spec: {
    group: resource.group,
    scope: resource.scope,
    names: {
      kind: resource.kind,
      listKind: `${resource.kind}List`,
      plural: resource.plural,
      singular: resource.kind.toLowerCase(),
      ...(resource.shortNames.length > 0 && { shortNames: resource.shortNames }),
      ...(resource.category !== undefined && { categories: [resource.category] }),
    },
    versions: [
      {
        name: resource.version,
        served: true,
        storage: true,
        ...subresourcesOf(resource),
        ...(resource.columns && { additionalPrinterColumns: resource.columns }),
        schema: { openAPIV3Schema: rootSchema(resource) },
      },
    ],
  },
});

const subresourcesOf = ({ status, isWrittenWhole, scale }: Resource) => {
  const isApart = status !== undefined && !isWrittenWhole;
  const subresources = { ...(isApart && { status: {} }), ...(scale && { scale }) };
  return Object.keys(subresources).length > 0 && { subresources };
};

/** The schema of a resource's spec, with the rules that concern several fields. */
export const specSchemaOf = ({ kind, spec, specRules = [] }: Resource): Schema =>
  withRules(
    schemaOf(spec, `${kind}.spec`),
    specRules.map(({ cel, message, path }) => ({
      rule: cel,
      message,
      fieldPath: path.replace(/^spec/, ''),
    })),
  );

const rootSchema = (resource: Resource): Schema => {
  const { kind, status, nameRules = [], changeRules = [] } = resource;
  const spec = withForms(specSchemaOf(resource));
  const root: Schema = {
    type: 'object',
    description: resource.description,
    properties: {
      apiVersion: { type: 'string' },
      kind: { type: 'string' },
      metadata: { type: 'object' },
      spec: { type: 'object', description: specDescriptionOf(resource), ...spec },
      ...(status && {
        status: {
          ...schemaOf(status, `${kind}.status`),
          description: 'Written by the coordinator.',
          ...unseenOf(resource),
        },
      }),
    },
    ...(spec.required ? { required: ['spec'] } : {}),
  };
  return withRules(root, [
    ...nameRules.map(({ cel, message }) => ({ rule: cel, message })),
    ...changeRules.map(({ cel, message, path }) => ({
      rule: cel,
      message,
      fieldPath: `.${path}`,
    })),
  ]);
};

/** By it kstatus, and so Flux, does not call an object healthy that has no status yet. */
const unseenOf = ({ isWrittenWhole, status }: Resource): Schema => {
  const isCounted = status instanceof z.ZodObject && 'observedGeneration' in status.shape;
  return isCounted && !isWrittenWhole ? { default: { observedGeneration: -1 } } : {};
};

const specDescriptionOf = ({ status, kind }: Resource): string =>
  `What the ${kind} ${status ? 'is to be' : 'says'}. Blank text is the same as an absent field.`;

/**
 * `kubectl explain` shows descriptions, and no rule. What is text or number it calls an object, so
 * that a description has to say what can be written; `x-examples` is no word of a CRD.
 */
const withForms = ({ 'x-examples': examples, ...schema }: Schema): Schema => {
  const { description, properties, items } = schema;
  const isIntOrString = schema['x-kubernetes-int-or-string'] === true;
  const forms = (schema['x-kubernetes-validations'] ?? [])
    .filter(({ fieldPath, message }) => fieldPath === undefined && message.startsWith('must '))
    .map(({ message }) => `It ${message}.`);
  const shown = examples?.map((example) => JSON.stringify(example)).join(', ');
  const texts = [
    description,
    isIntOrString && 'Text or a number.',
    ...forms,
    shown && `For example ${shown}.`,
    schema.default !== undefined && `Default: ${textOf(schema.default)}.`,
  ].filter(Boolean);
  return {
    ...schema,
    ...(texts.length > 0 && { description: texts.join(' ') }),
    ...(properties && {
      properties: Object.fromEntries(
        Object.entries(properties).map(([name, field]) => [name, withForms(field)]),
      ),
    }),
    ...(items && { items: withForms(items) }),
  };
};

const withRules = (schema: Schema, rules: readonly ValidationRule[]): Schema =>
  rules.length === 0 ? schema : { ...schema, 'x-kubernetes-validations': rules };

const schemaOf = (schema: z.ZodType, path: string): Schema =>
  structural(z.toJSONSchema(schema, { io: 'input' }), path);

/** Taken over as they are. */
const PLAIN_KEYS = new Set([
  'type',
  'default',
  'description',
  'x-examples',
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
    else if (key === 'properties') Object.assign(result, propertiesOf(value, path));
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

/** An object without fields is written without them. */
const propertiesOf = (fields: object, path: string): Schema => {
  const properties = Object.entries(fields).map(([name, child]) => [
    name,
    structural(child, `${path}.${name}`),
  ]);
  return properties.length === 0 ? {} : { properties: Object.fromEntries(properties) };
};

/** Maps have to be bounded. */
const isMapValue = (schema: object, key: string, value: unknown): value is object =>
  key === 'additionalProperties' && 'maxProperties' in schema && typeof value === 'object';

/**
 * The API server prunes unknown fields by itself, and refuses `additionalProperties: false`; beside
 * fields that are kept although they are unknown it takes none. What the keys of a map may be, a
 * rule has to say.
 */
const isDropped = (schema: object, key: string, value: unknown): boolean =>
  key === '$schema' ||
  (key === 'additionalProperties' && value === false) ||
  (key === 'additionalProperties' && 'x-kubernetes-preserve-unknown-fields' in schema) ||
  (key === 'propertyNames' && 'maxProperties' in schema);
