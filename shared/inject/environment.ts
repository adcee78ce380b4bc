/** The environment of the injected container: pod, OpenWRT and coordinator as the agent sees it. */
import { PURPOSE_ENV } from '../names.ts';
import type { InjectOptions } from './options.ts';
import { OWN_LOGIN_DIRECTORY, OWN_LOGIN_DIRECTORY_ENV } from './own-login-files.ts';
import type { EnvVar } from './pod.ts';
import { STATE_DIRECTORY, STATE_DIRECTORY_ENV } from './state-directory.ts';
import { MOUNTS } from './volumes.ts';

/** Where the agent listens unless it is told otherwise, and what its port is called in the pod. */
export const METRICS_PORT = 9_464;
export const METRICS_PORT_NAME = 'metrics';

/** Kinds that the agent must not wait for, separated by commas. */
export const WITHOUT_KINDS_ENV = 'SDEWAN_WITHOUT_KINDS';

export const environmentOf = (purpose: string, options: InjectOptions): EnvVar[] => [
  { name: PURPOSE_ENV, value: purpose },
  field('SDEWAN_NAMESPACE', 'metadata.namespace'),
  field('SDEWAN_POD_NAME', 'metadata.name'),
  // On the pod's own address, for what scrapes the metrics.
  field('SDEWAN_HTTP_HOST', 'status.podIP'),
  { name: 'SDEWAN_DRIVER', value: options.driver },
  { name: 'SDEWAN_OPENWRT_URL', value: options.openwrtUrl },
  ...optional('SDEWAN_OPENWRT_SERVER_NAME', options.openwrtServerName),
  ...optional('SDEWAN_OPENWRT_CA_FILE', options.openwrtCaSecret && `${MOUNTS.login}/ca.crt`),
  ...optional('SDEWAN_OPENWRT_USERNAME_FILE', options.loginSecret && `${MOUNTS.login}/username`),
  ...optional('SDEWAN_OPENWRT_PASSWORD_FILE', options.loginSecret && `${MOUNTS.login}/password`),
  ...optional(OWN_LOGIN_DIRECTORY_ENV, options.ownLogin ? OWN_LOGIN_DIRECTORY : undefined),
  { name: 'SDEWAN_COORDINATOR_URL', value: options.coordinatorUrl },
  // Named apart from the URL, so that the certificate is checked for it wherever the URL leads.
  {
    name: 'SDEWAN_COORDINATOR_SERVER_NAME',
    value: options.coordinatorServerName ?? hostOfFirst(options.coordinatorUrl),
  },
  { name: 'SDEWAN_COORDINATOR_CA_FILE', value: `${MOUNTS.identity}/coordinator-ca.crt` },
  { name: 'SDEWAN_COORDINATOR_TOKEN_FILE', value: `${MOUNTS.identity}/token` },
  { name: 'SDEWAN_NETWORKS_FILE', value: `${MOUNTS.identity}/nfn-network` },
  { name: 'SDEWAN_ATTACHMENTS_FILE', value: `${MOUNTS.identity}/networks` },
  { name: 'SDEWAN_NETWORK_STATUS_FILE', value: `${MOUNTS.identity}/network-status` },
  { name: 'SDEWAN_PAUSED_FILE', value: `${MOUNTS.identity}/paused` },
  { name: 'SDEWAN_SERVICE_ACCOUNT_DIR', value: MOUNTS.serviceAccount },
  { name: STATE_DIRECTORY_ENV, value: STATE_DIRECTORY },
  ...optional('SDEWAN_COMMIT_CONFIRM', options.commitConfirm),
  { name: 'SDEWAN_LOG_LEVEL', value: options.logLevel },
  ...optional(WITHOUT_KINDS_ENV, options.withoutKinds?.join(',') || undefined),
];

const hostOfFirst = (urls: string): string => new URL(urls.split(',')[0] ?? '').hostname;

const field = (name: string, fieldPath: string): EnvVar => ({
  name,
  // As the API server gives it back: a second applier of an injected manifest has no conflict.
  valueFrom: { fieldRef: { apiVersion: 'v1', fieldPath } },
});

const optional = (name: string, value: string | undefined): EnvVar[] =>
  value === undefined ? [] : [{ name, value }];
