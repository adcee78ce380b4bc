/** What a rule asks for, as one short text that agent and coordinator compute alike. */
import { createHash } from 'node:crypto';
import type { RuleObject } from '../kube/objects.ts';
import { ORDER_ANNOTATION, POD_ADDRESSES_ANNOTATION } from '../names.ts';
import { oncePerObject } from '../util/memo.ts';

/** SHA-256 in hex over spec and the annotations that shape sections, without `generation`. */
export const revisionOf = oncePerObject(({ spec, metadata }: RuleObject): string => {
  const order = metadata.annotations?.[ORDER_ANNOTATION] ?? '0';
  const addresses = metadata.annotations?.[POD_ADDRESSES_ANNOTATION];
  return createHash('sha256')
    .update(canonicalJson([spec ?? {}, order, ...(addresses === undefined ? [] : [addresses])]))
    .digest('hex');
});

/** Objects with sorted keys, so that the same content is the same text. */
const canonicalJson = (value: unknown): string =>
  JSON.stringify(value, (_key, part: unknown) =>
    typeof part === 'object' && part !== null && !Array.isArray(part)
      ? Object.fromEntries(Object.entries(part).sort(([a], [b]) => (a < b ? -1 : 1)))
      : part,
  );

/** The place that the order annotation asks for; undefined: it is no whole number. Absent: 0. */
export const orderOf = ({ metadata }: RuleObject): number | undefined => {
  const text = metadata.annotations?.[ORDER_ANNOTATION];
  if (text === undefined) return 0;
  const order = Number(text);
  return /^[+-]?\d+$/.test(text) && Number.isSafeInteger(order) ? order : undefined;
};
