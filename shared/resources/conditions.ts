/**
 * Conditions on several fields of a spec, and on names. Each is written once and is both CEL, which
 * the API server runs, and code, which agents and webhooks run. CEL sees specs as people write them
 * (blank text, numbers), code as the schema gives them (absent, digits).
 */
import type { NameRule, SpecRule } from './resource.ts';
import { celText } from './schema.ts';

type Fields = Readonly<Record<string, unknown>>;

export type Condition = {
  /** Over `self`. */
  cel: string;
  holds: (spec: Fields) => boolean;
};

/** @param message what is wrong and what would be right, as the end of "<field>: …" */
export const specRule = (
  field: string,
  condition: Condition,
  message: string,
): SpecRule<Fields> => ({ path: `spec.${field}`, message, ...condition });

/** Text or a number is there; blank is absent. */
export const given = (field: string): Condition => ({
  cel: `has(self.${field}) && self.${field} != ''`,
  holds: (spec) => spec[field] !== undefined,
});

export const absent = (field: string): Condition => ({
  cel: `!has(self.${field}) || self.${field} == ''`,
  holds: (spec) => spec[field] === undefined,
});

/** An object is there. */
export const present = (field: string): Condition => ({
  cel: `has(self.${field})`,
  holds: (spec) => spec[field] !== undefined,
});

/** A list or map is there and has items; `path` may lead into objects that are always there. */
export const filled = (path: string): Condition => ({
  cel: `has(self.${path}) && self.${path}.size() > 0`,
  holds: (spec) => {
    const found = path.split('.').reduce<unknown>(fieldOf, spec);
    return typeof found === 'object' && found !== null && Object.keys(found).length > 0;
  },
});

/** It is one of these words. */
export const is = (field: string, ...words: readonly string[]): Condition => ({
  cel: `has(self.${field}) && self.${field} in ${celList(words)}`,
  holds: (spec) => words.some((word) => word === spec[field]),
});

/** Text is there and the whole of it matches; syntax of RE2. */
export const matches = (field: string, pattern: string): Condition =>
  matching(field, pattern, `self.${field}`);

/**
 * As `matches`, for a field that takes a number as well. Not for text alone: the API server's
 * estimate of what a condition costs takes a text that is converted for one of any length
 * (measured, 1.36: "exceeds budget by factor of more than 100x").
 */
export const matchesAsText = (field: string, pattern: string): Condition =>
  matching(field, pattern, `string(self.${field})`);

const matching = (field: string, pattern: string, value: string): Condition => {
  const whole = `^(${pattern})$`;
  const expression = new RegExp(whole);
  return {
    cel: `has(self.${field}) && ${value}.matches(${celText(whole)})`,
    holds: (spec) => typeof spec[field] === 'string' && expression.test(spec[field]),
  };
};

/** Both are addresses or networks; to be asked where both are given. */
export const sameFamily = (one: string, other: string): Condition => ({
  cel: `self.${one}.contains(':') == self.${other}.contains(':')`,
  holds: (spec) => String(spec[one]).includes(':') === String(spec[other]).includes(':'),
});

/** To be asked where both are given. */
export const equal = (one: string, other: string): Condition => ({
  cel: `self.${one} == self.${other}`,
  holds: (spec) => spec[one] === spec[other],
});

/** No two items of a list, which is always there, have the same `key`. */
export const unique = (list: string, key: string): Condition => ({
  cel: `self.${list}.all(a, self.${list}.exists_one(b, b.${key} == a.${key}))`,
  holds: (spec) => {
    const items = spec[list];
    if (!Array.isArray(items)) return true;
    return new Set(items.map((item) => fieldOf(item, key))).size === items.length;
  },
});

export const all = (...conditions: readonly Condition[]): Condition => ({
  cel: joined(conditions, ' && '),
  holds: (spec) => conditions.every(({ holds }) => holds(spec)),
});

export const any = (...conditions: readonly Condition[]): Condition => ({
  cel: joined(conditions, ' || '),
  holds: (spec) => conditions.some(({ holds }) => holds(spec)),
});

export const not = ({ cel, holds }: Condition): Condition => ({
  cel: `!(${cel})`,
  holds: (spec) => !holds(spec),
});

/** What has to hold where something else does. */
export const when = (condition: Condition, then: Condition): Condition => any(not(condition), then);

/** The one where it holds, and the other where it does not. */
export const choose = (condition: Condition, then: Condition, otherwise: Condition): Condition => ({
  cel: `(${condition.cel}) ? (${then.cel}) : (${otherwise.cel})`,
  holds: (spec) => (condition.holds(spec) ? then : otherwise).holds(spec),
});

/** Both hold, or neither does. */
export const alike = (one: Condition, other: Condition): Condition => ({
  cel: joined([one, other], ' == '),
  holds: (spec) => one.holds(spec) === other.holds(spec),
});

export const nameLimit = (max: number, why: string): NameRule => ({
  cel: `self.metadata.name.size() <= ${max}`,
  message: `the name must have at most ${max} characters: ${why}`,
  holds: (name) => name.length <= max,
  isLimit: true,
});

/** @param pattern of names that cannot be; syntax of RE2 */
export const nameIsNot = (pattern: string, message: string): NameRule => {
  const expression = new RegExp(pattern);
  return {
    cel: `!self.metadata.name.matches(${celText(pattern)})`,
    message,
    holds: (name) => !expression.test(name),
    isLimit: false,
  };
};

const joined = (conditions: readonly Condition[], operator: string): string =>
  conditions.map(({ cel }) => `(${cel})`).join(operator);

const celList = (words: readonly string[]): string => `[${words.map(celText).join(', ')}]`;

const fieldOf = (value: unknown, name: string): unknown =>
  typeof value === 'object' && value !== null ? Reflect.get(value, name) : undefined;
