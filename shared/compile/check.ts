/** Checks of one CR by itself: name, order annotation and spec. Agents and webhooks share them. */
import type * as z from 'zod';
import type { KindDefinition, Reference } from '../resources/kind.ts';
import { kindOf } from '../resources/registry.ts';
import type { RuleObject } from '../kube/objects.ts';
import { ORDER_ANNOTATION } from '../names.ts';
import type { Reason } from '../protocol/reasons.ts';
import { uciName } from '../uci/names.ts';
import { oncePerObject } from '../util/memo.ts';
import { orderOf } from './revision.ts';

export type Problem = { reason: Reason; message: string };

export type CheckedSpec = { spec: unknown } | { problem: Problem };

/**
 * The spec as the kind's schema gives it, or what is wrong with it, each with its path. Once for
 * each spec: a pass looks at all of them several times, and of a thousand rules' specs at most a
 * few have changed since the last pass.
 */
export const checkSpec = (kind: KindDefinition, raw: unknown): CheckedSpec =>
  typeof raw === 'object' && raw !== null ? checkerOf(kind)(raw) : checkNow(kind, raw);

const checkerOf = oncePerObject((kind: KindDefinition) =>
  oncePerObject((raw: object) => checkNow(kind, raw)),
);

const checkNow = (kind: KindDefinition, raw: unknown): CheckedSpec => {
  // With what was given, to tell what is absent from what is of another type.
  const parsed = kind.spec.safeParse(raw ?? {}, { reportInput: true });
  if (!parsed.success) return { problem: invalid(parsed.error.issues.map(issueText)) };
  const broken = (kind.specRules ?? []).filter(({ holds }) => !holds(parsed.data));
  if (broken.length > 0) {
    return { problem: invalid(broken.map(({ path, message }) => `${path}: ${message}`)) };
  }
  return { spec: parsed.data };
};

/** What is wrong with name or annotations, or with the name beside the names in the spec. */
export const checkMetadata = (kind: KindDefinition, rule: RuleObject): Problem | undefined => {
  const broken = kind.nameRules?.find(({ holds }) => !holds(rule.metadata.name));
  if (broken) {
    const message = `metadata.name: ${broken.message}`;
    return broken.isLimit ? { reason: 'NameTooLong', message } : invalid([message]);
  }
  if (orderOf(rule) === undefined) {
    return invalid([`metadata.annotations[${ORDER_ANNOTATION}]: must be a whole number`]);
  }
  const clashing = partNamesOf(kind, rule).filter(
    ({ name }) => uciName(name) === uciName(rule.metadata.name),
  );
  if (clashing.length === 0) return undefined;
  const why = 'is the name of the rule itself, which is taken on OpenWRT; choose another name';
  return invalid(clashing.map(({ path, name }) => `${path}: ${name} ${why}`));
};

const partNamesOf = (kind: KindDefinition, rule: RuleObject) => {
  const checked = kind.partNames && checkSpec(kind, rule.spec);
  return checked && 'spec' in checked ? (kind.partNames?.(checked.spec) ?? []) : [];
};

/** The CRs that a rule refers to; none when its spec is invalid, since they are then unknown. */
export const referencesOf = (rule: RuleObject): readonly Reference[] => {
  const kind = kindOf(rule.kind);
  if (!kind?.references) return [];
  const checked = checkSpec(kind, rule.spec);
  return 'spec' in checked ? kind.references(checked.spec) : [];
};

const invalid = (messages: readonly string[]): Problem => ({
  reason: 'InvalidSpec',
  message: [...new Set(messages)].join('; '),
});

/** As people read it: `spec.members[0].network`. */
export const fieldOf = ([first = '', ...path]: readonly PropertyKey[]): string =>
  path.reduce<string>(
    (text, key) => (typeof key === 'number' ? `${text}[${key}]` : `${text}.${String(key)}`),
    String(first),
  );

/** Values stay out of it: they may be secret. */
const issueText = (issue: z.core.$ZodIssue): string => {
  const path = fieldOf(['spec', ...issue.path]);
  if (issue.code === 'unrecognized_keys') {
    return `${path}: unknown to this version: ${issue.keys.join(', ')}`;
  }
  if (issue.code === 'invalid_type' && issue.input === undefined) return `${path}: is required`;
  return `${path}: ${issue.message}`;
};
