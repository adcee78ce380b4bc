/**
 * What the status of a kind has beyond that of all rules, as the kind's schema says. The roll-up
 * knows nothing of these fields: what writes them does so by itself, and they stay as they are
 * while the roll-up replaces the rest.
 */
import * as z from 'zod';
import { ruleStatusSchema } from '#shared/protocol/status.ts';
import type { RuleVersion } from '../../sources/rules.ts';

export const ownFieldsOf = ({
  resource: { status },
  object,
}: Pick<RuleVersion, 'resource' | 'object'>): Record<string, unknown> => {
  if (!(status instanceof z.ZodObject)) return {};
  const isOwn = (field: string): boolean =>
    Object.hasOwn(status.shape, field) && !Object.hasOwn(ruleStatusSchema.shape, field);
  return Object.fromEntries(Object.entries(object.status ?? {}).filter(([field]) => isOwn(field)));
};
