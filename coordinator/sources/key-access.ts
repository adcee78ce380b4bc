/**
 * What becomes of the kinds that hold keys in a CNF that runs as service account `default`, which
 * every pod of a namespace can run as.
 */
import { DEFAULT_READS_KEYS_ANNOTATION } from '#shared/names.ts';
import type { PodSpec } from '#shared/inject/pod.ts';
import { DEFAULT_SERVICE_ACCOUNT } from './workload.ts';

export const runsAsDefault = ({ serviceAccountName }: PodSpec): boolean =>
  (serviceAccountName || DEFAULT_SERVICE_ACCOUNT) === DEFAULT_SERVICE_ACCOUNT;

/** For the author of such a CNF; kubectl shows 256 characters. */
export const keysWarning = (kinds: readonly string[]): string =>
  `the pods run as service account default, so the agent may not read ${kinds.join(', ')}: set serviceAccountName, or annotate ` +
  `the namespace with ${DEFAULT_READS_KEYS_ANNOTATION}=true`;

/** For a rule of such a kind, on a pod whose agent is configured to leave the kind out. */
export const keysLeftOut = (kind: string): string =>
  `the pod runs as service account default, so the agent may not read ${kind}; set serviceAccountName in the pod template of the CNF, ` +
  `or annotate the namespace with ${DEFAULT_READS_KEYS_ANNOTATION}=true and re-create the pod`;
