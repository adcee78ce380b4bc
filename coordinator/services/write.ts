/** Brings one FirewallDNAT to what Services ask for. Touches only those that bear our labels; every write is fenced to what was seen. */
import { isDeepStrictEqual } from 'node:util';
import { firewallDnat } from '#shared/resources/rules/firewall-dnat.ts';
import type { KubeClient } from '#shared/kube/client.ts';
import { isConflict, isNotFound } from '#shared/kube/errors.ts';
import type { RuleObject } from '#shared/kube/objects.ts';
import { apiVersionOf } from '#shared/kube/path.ts';
import {
  AGENTS_FINALIZER,
  BUCKET_TYPE_LABEL,
  PURPOSE_LABEL,
  SERVICE_BUCKET,
  SERVICE_NAME_LABEL,
  SERVICE_NAMESPACE_LABEL,
  SERVICE_UID_LABEL,
} from '#shared/names.ts';
import { MANAGED_BY } from '../bindings/managed-by.ts';
import type { WantedRule } from './claims.ts';

/** Whether it was made here, for whichever Service. */
export const isServiceRule = ({ kind, metadata }: RuleObject): boolean =>
  kind === firewallDnat.kind &&
  metadata.labels?.[BUCKET_TYPE_LABEL] === SERVICE_BUCKET &&
  metadata.labels[SERVICE_UID_LABEL] !== undefined &&
  Object.entries(MANAGED_BY).every(([label, value]) => metadata.labels?.[label] === value);

export type Outcome = 'nothing' | 'created' | 'updated' | 'deleted' | 'taken';

/** After a conflict nothing is done: the watch tells of what was in the way. @throws KubeError other than conflicts */
export const bringRule = async (
  client: KubeClient,
  wanted: WantedRule | undefined,
  present: RuleObject | undefined,
  signal: AbortSignal,
): Promise<Outcome> => {
  // Its name is free only when all agents have confirmed.
  if (present?.metadata.deletionTimestamp !== undefined) return 'nothing';
  if (!wanted) return present ? remove(client, present, signal) : 'nothing';
  return present ? update(client, wanted, present, signal) : create(client, wanted, signal);
};

const create = async (
  client: KubeClient,
  wanted: WantedRule,
  signal: AbortSignal,
): Promise<Outcome> => {
  const { namespace, name, spec } = wanted;
  const body = {
    apiVersion: apiVersionOf(firewallDnat),
    kind: firewallDnat.kind,
    metadata: { name, namespace, labels: labelsOf(wanted), finalizers: [AGENTS_FINALIZER] },
    spec,
  };
  try {
    await client.create(firewallDnat, body, { signal });
    return 'created';
  } catch (error) {
    if (!isConflict(error)) throw error;
  }
  const there = await client.get(firewallDnat, { namespace, name }, { signal }).catch(orNothing);
  return there && !isServiceRule(there) ? 'taken' : 'nothing';
};

const update = async (
  client: KubeClient,
  wanted: WantedRule,
  present: RuleObject,
  signal: AbortSignal,
): Promise<Outcome> => {
  const labels = labelsOf(wanted);
  const isRight =
    isDeepStrictEqual(present.spec, wanted.spec) &&
    Object.entries(labels).every(([label, value]) => present.metadata.labels?.[label] === value);
  if (isRight) return 'nothing';
  // The purpose of a rule cannot change: agents of the other CNF would never hear that it is gone.
  if (present.metadata.labels?.[PURPOSE_LABEL] !== wanted.purpose)
    return remove(client, present, signal);
  const { namespace, name, uid, resourceVersion } = present.metadata;
  // A merge patch keeps what it does not name.
  const former = Object.keys(present.spec ?? {}).map((field) => [field, null] as const);
  const spec = { ...Object.fromEntries(former), ...wanted.spec };
  const patch = {
    type: 'merge',
    body: { metadata: { uid, resourceVersion, labels }, spec },
  } as const;
  return client
    .patch(firewallDnat, { namespace, name }, { patch, signal })
    .then(() => 'updated' as const, afterConflict);
};

const remove = async (
  client: KubeClient,
  { metadata }: RuleObject,
  signal: AbortSignal,
): Promise<Outcome> => {
  const { namespace, name, uid, resourceVersion } = metadata;
  const preconditions = { uid, resourceVersion };
  return client
    .delete(firewallDnat, { namespace, name }, { preconditions, signal })
    .then(() => 'deleted' as const, afterConflict);
};

const labelsOf = ({ purpose, service }: WantedRule): Record<string, string> => ({
  ...MANAGED_BY,
  [PURPOSE_LABEL]: purpose,
  [BUCKET_TYPE_LABEL]: SERVICE_BUCKET,
  [SERVICE_NAMESPACE_LABEL]: service.namespace,
  [SERVICE_NAME_LABEL]: service.name,
  [SERVICE_UID_LABEL]: service.uid,
});

const afterConflict = (error: unknown): Outcome => {
  if (isConflict(error) || isNotFound(error)) return 'nothing';
  throw error;
};

const orNothing = (error: unknown): undefined => {
  if (isNotFound(error)) return undefined;
  throw error;
};
