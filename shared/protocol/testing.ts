/**
 * What an agent answers that has looked at nothing yet; and messages at the limits of their
 * schemas, and beyond.
 */
import * as z from 'zod';
import type { Inspection } from './inspection.ts';

export const inspectionWith = (changes: Partial<Inspection> = {}): Inspection => ({
  agent: '0.1.0',
  namespace: 'edge',
  pod: 'cnf-1-a',
  purpose: 'cnf-1',
  at: '2026-01-01T00:00:00.000Z',
  openwrt: { reachable: true, driver: 'ubus', message: '', driftRepairs: 0 },
  paused: false,
  watches: [],
  waitsFor: [],
  packages: [],
  rules: [],
  ...changes,
});

/**
 * Each field at its limit; texts of characters that take two bytes, where the schema takes them.
 * @throws Error for a text or a list without a limit
 */
export const largestOf = <S extends z.ZodType>(schema: S): z.infer<S> =>
  // oxlint-disable-next-line typescript/no-unsafe-type-assertion -- made as the schema says
  largest(z.toJSONSchema(schema, { io: 'input' }) as JsonSchema) as z.infer<S>;

/**
 * Messages of which one field each is beyond its limit by one, by the path of the field; lists have
 * one element but where they are too long. @throws Error for a text or a list without a limit
 */
export const beyondEach = (schema: z.ZodType): ReadonlyMap<string, unknown> =>
  // oxlint-disable-next-line typescript/no-unsafe-type-assertion -- made as the schema says
  new Map(beyond(z.toJSONSchema(schema, { io: 'input' }) as JsonSchema));

type JsonSchema = {
  const?: unknown;
  enum?: readonly unknown[];
  type?: string;
  properties?: Record<string, JsonSchema>;
  items?: JsonSchema;
  maxItems?: number;
  maxLength?: number;
  maximum?: number;
  pattern?: string;
};

const OF_TYPE = new Map<string | undefined, boolean | number>([
  ['boolean', true],
  ['number', Number.MAX_SAFE_INTEGER],
  ['integer', Number.MAX_SAFE_INTEGER],
]);

const beyond = (schema: JsonSchema): [path: string, value: unknown][] => {
  const { type, properties = {}, items = {}, maxItems = 0, maximum } = schema;
  if (schema.enum || schema.const !== undefined) return [];
  if (type === 'string') return [['', `${largestText(schema)}A`]];
  if (maximum !== undefined) return [['', maximum + 1]];
  if (type === 'array')
    return [
      ['[]', Array.from({ length: maxItems + 1 }, () => largest(items, 1))],
      ...beyond(items).map(([path, value]): [string, unknown] => [`[]${path}`, [value]]),
    ];
  const small = Object.entries(properties).map(([key, of]) => [key, largest(of, 1)] as const);
  return Object.entries(properties).flatMap(([key, of]) =>
    beyond(of).map(([path, value]): [string, unknown] => [
      `.${key}${path}`,
      { ...Object.fromEntries(small), [key]: value },
    ]),
  );
};

/** `most`: elements of a list. */
const largest = (schema: JsonSchema, most = Infinity): unknown => {
  const { type, properties = {}, items = {}, maxItems } = schema;
  const [value = schema.maximum ?? OF_TYPE.get(type)] = schema.enum ?? [schema.const];
  if (value !== undefined) return value;
  if (type === 'string') return largestText(schema);
  if (type === 'array' && maxItems !== undefined)
    return Array.from({ length: Math.min(most, maxItems) }, () => largest(items, most));
  if (type !== 'object') throw new Error(`no limit: ${JSON.stringify(schema)}`);
  return Object.fromEntries(
    Object.entries(properties).map(([key, of]) => [key, largest(of, most)]),
  );
};

const largestText = ({ maxLength, pattern = '' }: JsonSchema): string => {
  const texts = ['Ā', 'A'].map((letter) => letter.repeat(maxLength ?? 0));
  const text = texts.find((one) => one !== '' && new RegExp(pattern, 'u').test(one));
  if (text === undefined) throw new Error('no limit of a text');
  return text;
};
