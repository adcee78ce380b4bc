/** Brings one FirewallDNAT to what Services ask for. Touches only those that bear our labels; every write is fenced to what was seen. */
import { firewallDnat } from '#shared/resources/rules/firewall-dnat.ts';
import type { KubeClient } from '#shared/kube/client.ts';
import type { RuleObject } from '#shared/kube/objects.ts';
import { find, keep, type Desired, type WriteOutcome } from '#shared/kube/owned.ts';
import {
  BUCKET_TYPE_LABEL,
  MANAGED_BY,
  PURPOSE_LABEL,
  SERVICE_BUCKET,
  SERVICE_NAMESPACE_LABEL,
  SERVICE_NAME_LABEL,
  SERVICE_UID_LABEL,
} from '#shared/names.ts';
import { generatedMetadata } from '../rules/generated.ts';
import type { WantedRule } from './claims.ts';
import { own } from '#shared/runtime/own.ts';

/** Whether it was made here, for whichever Service. */
export const isServiceRule = ({ kind, metadata }: RuleObject): boolean =>
  kind === firewallDnat.kind &&
  metadata.labels?.[BUCKET_TYPE_LABEL] === SERVICE_BUCKET &&
  metadata.labels[SERVICE_UID_LABEL] !== undefined &&
  Object.entries(MANAGED_BY).every(([label, value]) => own(metadata.labels ?? {}, label) === value);

/** `taken`: the name belongs to a rule that was not made here. @throws KubeError */
export const bringRule = async (
  client: KubeClient,
  wanted: WantedRule | undefined,
  present: RuleObject | undefined,
  signal: AbortSignal,
): Promise<WriteOutcome | 'taken'> => {
  // Its name is free only when all agents have confirmed.
  if (present?.metadata.deletionTimestamp !== undefined) return 'unchanged';
  const desired = wanted && !isOfAnotherCnf(present, wanted) ? objectOf(wanted) : undefined;
  const { outcome } = await keep({ client, resource: firewallDnat, signal }, desired, present);
  if (outcome !== 'exists' || !wanted) return outcome;
  const there = await find(client, firewallDnat, wanted, { signal });
  return there && !isServiceRule(there) ? 'taken' : outcome;
};

/** The purpose of a rule cannot change: agents of the other CNF would never see that it is gone. */
const isOfAnotherCnf = (present: RuleObject | undefined, { purpose }: WantedRule): boolean =>
  present !== undefined && present.metadata.labels?.[PURPOSE_LABEL] !== purpose;

const objectOf = ({ service, spec, ...rule }: WantedRule): Desired => {
  const metadata = generatedMetadata({ ...rule, bucketType: SERVICE_BUCKET });
  const labels = {
    ...metadata.labels,
    [SERVICE_NAMESPACE_LABEL]: service.namespace,
    [SERVICE_NAME_LABEL]: service.name,
    [SERVICE_UID_LABEL]: service.uid,
  };
  return { metadata: { ...metadata, labels }, fields: { spec } };
};
