/** The objects of one CNF that say what it enforces: their names, and what they should be. Pure. */
import { createHash } from 'node:crypto';
import type { Desired } from '#shared/kube/owned.ts';
import { AGENTS_FINALIZER, MANAGED_BY, POLICY_UID_LABEL, PURPOSE_LABEL } from '#shared/names.ts';
import type { PolicyEnforcementSpec } from '#shared/resources/other-kinds/policy-enforcement.ts';

/** A CNF: its pods have that label in that namespace. */
export type PolicyPlace = { namespace: string; purpose: string };

const KEY = '/';
export const keyOf = ({ namespace, purpose }: PolicyPlace): string =>
  `${namespace}${KEY}${purpose}`;
export const placeOf = (key: string): PolicyPlace => {
  const [namespace = '', purpose = ''] = key.split(KEY);
  return { namespace, purpose };
};

const MAX_NAME = 200;
const hashed = (...parts: readonly string[]): string =>
  createHash('sha256').update(JSON.stringify(parts)).digest('hex').slice(0, 12);

export const desiredGroup = (
  { namespace, purpose }: PolicyPlace,
  { group, slice, members }: { group: string; slice: number; members: readonly string[] },
): Desired => ({
  metadata: {
    namespace,
    name: `${hashed(purpose)}.${group}.${slice}`,
    labels: { ...MANAGED_BY, [PURPOSE_LABEL]: purpose },
  },
  fields: { spec: { group, slice, members } },
  isUnmanaged: true,
});

/** The name begins with the policy's, for people; others of that name have other objects. */
export const desiredEnforcement = (
  { namespace, purpose }: PolicyPlace,
  spec: PolicyEnforcementSpec,
): Desired => {
  const { policy } = spec;
  const readable = `${policy.namespace}.${policy.name}`.slice(0, MAX_NAME).replace(/[-.]+$/, '');
  return {
    metadata: {
      namespace,
      name: `${readable}.${hashed(purpose, policy.uid)}`,
      labels: { ...MANAGED_BY, [PURPOSE_LABEL]: purpose, [POLICY_UID_LABEL]: policy.uid },
      finalizers: [AGENTS_FINALIZER],
    },
    fields: { spec },
  };
};

/** The groups that it is about. */
export const groupsOf = (spec: Pick<PolicyEnforcementSpec, 'pods' | 'lines'>): string[] => [
  spec.pods,
  ...spec.lines.flatMap(({ group, named }) => [group, named].filter((one) => one !== undefined)),
];
