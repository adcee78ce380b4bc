/** The CR by itself: its spec by the schema that agents use, and its name as OpenWRT can hold it. */
import { checkMetadata, checkSpec } from '#shared/compile/check.ts';
import { ASSUMED } from '#shared/resources/capabilities.ts';
import type { Check } from './check.ts';

export const specIsValid: Check = ({ after, specChanged, kind }) => {
  if (after === undefined || !specChanged) return undefined;
  const checked = checkSpec(kind, after.spec);
  return 'problem' in checked
    ? { reason: 'InvalidSpec', message: checked.problem.message }
    : undefined;
};

/** Which firewall the CNF has is for its agents to find out; few have another. */
const ON_FIREWALL4 = { capabilities: ASSUMED };

/** What is allowed, and may not be what its author expects. */
export const cautionsOf: Check = ({ after, specChanged, kind }) => {
  if (after === undefined || !specChanged) return undefined;
  const checked = checkSpec(kind, after.spec);
  if ('problem' in checked) return undefined;
  const cautions = [
    ...(kind.cautions?.(checked.spec) ?? []),
    ...(kind.uci?.leftOut?.(checked.spec, ON_FIREWALL4) ?? []).map(
      ({ path, message }) => `${path}: ${message}`,
    ),
  ];
  return cautions.length === 0 ? undefined : { reason: 'Caution', message: cautions.join('; ') };
};

/** Also on updates: annotations can change at any time. */
export const metadataIsValid: Check = ({ operation, before, after, kind }) => {
  if (after === undefined) return undefined;
  const problem = checkMetadata(kind, after);
  if (problem === undefined) return undefined;
  // What was wrong before must not block a change of something else.
  if (operation === 'UPDATE' && before && checkMetadata(kind, before)) return undefined;
  return {
    reason: problem.reason === 'NameTooLong' ? 'NameTooLong' : 'InvalidSpec',
    message: problem.message,
  };
};
