/**
 * Every text and number of every rule, with what has a meaning in a shell, in UCI, in strongSwan's
 * files or in nft: scripts of OpenWRT and of ICN paste values unquoted. Whatever a field takes of
 * it is listed here with the reason. CRDs must refuse it too, since the webhook may be away.
 */
import { createContext, runInContext } from 'node:vm';
import { describe, expect, it } from 'vitest';
import * as z from 'zod';
import { kinds } from '#shared/resources/registry.ts';

const HOSTILE: Readonly<Record<string, string>> = {
  'a line break': 'a\nb',
  'a carriage return': 'a\rb',
  'a tab': 'a\tb',
  'a zero': 'a\0b',
  'a delete': 'a\x7fb',
  'a single quote': "a'b",
  'a double quote': 'a"b',
  'a backslash': 'a\\b',
  'a substitution': '$(id)',
  'an old substitution': '`id`',
  'a variable': '${IFS}id',
  'a second command': 'a;id',
  'a pipe': 'a|id',
  'a background': 'a&id',
  'a redirection': 'a>/etc/passwd',
  'a comment': 'a #b',
  'a block': 'a } b {',
  'an include': 'include /etc/shadow',
  'a secret': 'x : PSK known',
  'an option': '--modprobe=/tmp/x',
  'a path upwards': '../../etc/shadow',
  'a blank': 'x y',
  'a wildcard': '/etc/*',
};
const HOSTILE_NUMBERS = [-1, 0.5, 2 ** 32, 2 ** 53, -(2 ** 31), 1e21];

const NOT_PRINTABLE = ['\n', '\r', '\t', '\0', '\x7f'];
const PRINTABLE = Object.entries(HOSTILE).flatMap(([what, text]) =>
  NOT_PRINTABLE.some((letter) => text.includes(letter)) ? [] : [what],
);
const OF_A_SHELL = [
  'a substitution',
  'a second command',
  'a pipe',
  'a background',
  'a redirection',
];
const OF_A_FILE = ['an option', 'a path upwards', 'a wildcard'];

/** What is taken all the same, and why it does no harm. */
const TAKEN: readonly { fields: RegExp; why: string; takes: readonly string[] }[] = [
  {
    fields:
      /^\w+(Rule|NAT|Forwarding)\.name$|^Firewall[DS]NAT\.target$|Application\.(service|cnf)Port$/,
    why: 'is ignored, and never reaches OpenWRT',
    takes: PRINTABLE,
  },
  {
    fields: /\.(extra|extra_src|extra_dest|etra_dest)$/,
    why: 'firewall3 splits it into words and hands them to iptables itself, no shell does; others refuse it',
    takes: PRINTABLE,
  },
  {
    fields: /\.(local|remote)_identifier$/,
    why: 'scripts expand it within quotes once, and evaluate nothing again; in ipsec.secrets blanks, colons and # have a meaning',
    takes: [...OF_A_SHELL, 'an old substitution', ...OF_A_FILE, 'a blank'],
  },
  {
    fields: /\.pre_shared_key$/,
    why: 'as an identity; it is one word to its end',
    takes: [...OF_A_SHELL, ...OF_A_FILE],
  },
];

type Field = { path: string; schema: z.ZodType };

const fieldsOf = (schema: z.ZodType, path: string): Field[] => {
  if (schema instanceof z.ZodOptional) return fieldsOf(unwrapped(schema.unwrap()), path);
  if (schema instanceof z.ZodArray) return fieldsOf(unwrapped(schema.element), `${path}[]`);
  if (schema instanceof z.ZodObject)
    return Object.entries(schema.shape).flatMap(([name, field]) =>
      fieldsOf(unwrapped(field), `${path}.${name}`),
    );
  return [{ path, schema }];
};
const unwrapped = (schema: unknown): z.ZodType => {
  if (schema instanceof z.ZodType) return schema;
  throw new Error('not a schema');
};

const fields = kinds.flatMap(({ kind, spec }) => fieldsOf(spec, kind));

const fieldSchema = z.looseObject({
  type: z.union([z.string(), z.array(z.string())]).optional(),
  enum: z.array(z.unknown()).optional(),
  pattern: z.string().optional(),
  maxLength: z.int().optional(),
  minimum: z.number().optional(),
  maximum: z.number().optional(),
  'x-kubernetes-int-or-string': z.boolean().optional(),
  'x-kubernetes-validations': z.array(z.object({ rule: z.string() })).optional(),
});
type Crd = z.infer<typeof fieldSchema>;
const crdOf = ({ schema }: Field): Crd =>
  fieldSchema.parse(z.toJSONSchema(schema, { io: 'input' }));

/** The pattern within `matches('…')`, unquoted. */
const patternOf = ({
  pattern,
  'x-kubernetes-validations': rules = [],
}: Crd): RegExp | undefined => {
  const inRule = rules
    .map(({ rule }) => /matches\('(.*)'\)/s.exec(rule)?.[1]?.replaceAll(/\\(['\\])/g, '$1'))
    .find((one) => one !== undefined);
  const found = pattern ?? inRule;
  return found === undefined ? undefined : new RegExp(found);
};
const takesText = (crd: Crd, text: string): boolean => {
  if (crd.enum !== undefined) return crd.enum.includes(text);
  const isText = crd.type === undefined || [crd.type].flat().includes('string');
  return isText && (patternOf(crd)?.test(text) ?? true);
};
const takenIn = (path: string): readonly string[] => {
  const taken = new Set(
    TAKEN.filter(({ fields: at }) => at.test(path)).flatMap(({ takes }) => takes),
  );
  return Object.keys(HOSTILE).filter((what) => taken.has(what));
};

/** Longer than any that is of use against a pattern; a linear one takes no millisecond for it. */
const MOST_LETTERS = 4_096;
const LETTERS = ['a', 'i', 'x', '0', '1', ' ', ',', '.', ':', '-', '/', '!', '_', '='];
/** Texts that repeat in two ways, and then do not match at all. */
const longTexts = (): readonly string[] =>
  LETTERS.flatMap((one) =>
    LETTERS.flatMap((other) => {
      const pair = `${one}${other}`;
      return ['', '%', '#', '!', '0x', 'include'].map(
        (before) => `${before}${pair.repeat(MOST_LETTERS / 2)}\n`,
      );
    }),
  );
/** An exponential pattern takes years. */
const ENOUGH_MS = 20_000;

describe.each(kinds.map(({ kind }) => kind))('%s', (kind) => {
  const own = fields.filter(({ path }) => path === kind || path.startsWith(`${kind}.`));

  it.each(own.map((field) => [field.path, field] as const))(
    '%s takes nothing hostile',
    (path, field) => {
      const crd = crdOf(field);
      const taken = Object.entries(HOSTILE).filter(
        ([, text]) => takesText(crd, text) || field.schema.safeParse(text).success,
      );
      expect(taken.map(([what]) => what)).toEqual(takenIn(path));
      expect(HOSTILE_NUMBERS.filter((number) => field.schema.safeParse(number).success)).toEqual(
        [],
      );
    },
  );
});

it.each(TAKEN)('lists no field that is not there: $fields', ({ fields: at }) => {
  expect(fields.some(({ path }) => at.test(path))).toBe(true);
});

const patterns = [...new Set(fields.flatMap((field) => patternOf(crdOf(field))?.source ?? []))].map(
  (source) => ({ source }),
);

it.each(patterns)('takes no time to refuse long texts: $source', ({ source }) => {
  const script =
    'const pattern = new RegExp(source, "u"); texts.filter((text) => pattern.test(text)).length';
  const context = createContext({ source, texts: longTexts() });
  expect(runInContext(script, context, { timeout: ENOUGH_MS })).toBe(0);
});
