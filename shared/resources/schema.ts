/**
 * What the fields of rule specs are built from. A fragment states one truth twice from one source:
 * as zod, which agents and webhooks run, and as OpenAPI and CEL (in its metadata), which the API
 * server runs. Every text is bounded, which keeps CEL's cost in bounds. Blank text means absent, as
 * ICN's controller writes it.
 */
import * as z from 'zod';

export type TextRule = {
  /** What a value must be, as the operator reads it: "must be …". */
  must: string;
  maxLength: number;
  /** Without anchors; RE2 syntax (no lookaheads), as CEL takes it too. */
  pattern: string;
  /** What the pattern cannot say. Gets text that the pattern matches. */
  holds?: (value: string) => boolean;
};

/** Text of a pattern; never blank. */
export const text = (rule: TextRule) =>
  boundedText(rule)
    .refine(matcherOf(rule), { error: rule.must })
    .meta(celRule(`self.matches(${celText(`^(${rule.pattern})$`)})`, rule.must));

/** Text of a pattern, or blank, which is the same as absent. */
export const optionalText = (rule: TextRule) => {
  const matches = matcherOf(rule);
  return boundedText(rule)
    .refine((value) => value === '' || matches(value), { error: rule.must })
    .transform(blankIsAbsent)
    .meta(celRule(`self.matches(${celText(`^(${rule.pattern})?$`)})`, rule.must))
    .optional();
};

type NumberRule = TextRule & {
  min: number;
  max: number;
  /** `kubectl explain` calls such a field an object, so it shows some. */
  examples: readonly (string | number)[];
};

/** As `optionalText`, and a whole number from `min` to `max` is taken as its digits. */
export const optionalTextOrNumber = (rule: NumberRule) => {
  const matches = matcherOf(rule);
  return intOrString(rule, (value) => value === '' || matches(value))
    .transform((value) => blankIsAbsent(String(value)))
    .meta(intOrStringRule(rule, `^(${rule.pattern})?$`))
    .optional();
};

/** As `text`, and a whole number from `min` to `max` is taken as its digits. */
export const textOrNumber = (rule: NumberRule) =>
  intOrString(rule, matcherOf(rule))
    .transform(String)
    .meta(intOrStringRule(rule, `^(${rule.pattern})$`));

const intOrString = (rule: NumberRule, isText: (value: string) => boolean) => {
  const { must, maxLength, min, max } = rule;
  const inRange = (value: number) => Number.isInteger(value) && value >= min && value <= max;
  return z
    .union([z.string(), z.number()], { error: must })
    .refine(
      (value) =>
        typeof value === 'number' ? inRange(value) : value.length <= maxLength && isText(value),
      { error: must },
    );
};

const intOrStringRule = ({ must, maxLength, min, max, examples }: NumberRule, pattern: string) => ({
  'x-kubernetes-int-or-string': true,
  maxLength,
  // Under its usual name zod leaves it out where a value is transformed.
  'x-examples': examples,
  // Without the guard, `matches` fails at run time for every integer (measured).
  ...celRule(
    `type(self) == int ? self >= ${min} && self <= ${max} : string(self).matches(${celText(pattern)})`,
    must,
  ),
});

/** One of a few words, or blank, which is the same as absent. */
export const oneOf = <const Word extends string>(words: readonly Word[]) =>
  z
    .enum([...words, ''], { error: `must be one of ${words.join(', ')}` })
    .transform((value) => words.find((word) => word === value))
    .optional();

/** A string literal of CEL. */
export const celText = (value: string): string =>
  `'${value.replaceAll(/['\\]/g, String.raw`\$&`)}'`;

const boundedText = ({ must, maxLength }: TextRule) =>
  z
    .string({ error: must })
    .max(maxLength, { error: `must be at most ${maxLength} characters long` });

const matcherOf = ({ pattern, holds }: TextRule): ((value: string) => boolean) => {
  const whole = new RegExp(`^(${pattern})$`);
  return (value) => whole.test(value) && (holds?.(value) ?? true);
};

export const celRule = (rule: string, message: string) => ({
  'x-kubernetes-validations': [{ rule, message }],
});

const blankIsAbsent = (value: string): string | undefined => (value === '' ? undefined : value);
