/**
 * What injection can be asked for; the webhook fills it from its defaults and the pod's
 * annotations, the CLI from flags.
 */
import type { DriverChoice } from './drivers.ts';

export const logLevels = ['trace', 'debug', 'info', 'warn', 'error', 'silent'] as const;
export type LogLevel = (typeof logLevels)[number];

export type InjectOptions = {
  image: string;
  /** Base URLs of coordinators' report intakes, https, separated by commas. */
  coordinatorUrl: string;
  /** Name in their certificate; default: the host of the first URL. */
  coordinatorServerName?: string | undefined;
  /** ConfigMap in the pod's namespace whose `ca.crt` signs the coordinator's certificate. */
  coordinatorCaConfigMap: string;
  /** OpenWRT as seen from the pod, e.g. `http://127.0.0.1:80`. */
  openwrtUrl: string;
  /** Name in OpenWRT's certificate, if it is not the host of the URL. */
  openwrtServerName?: string | undefined;
  driver: DriverChoice;
  /**
   * The agent makes a login of its own on OpenWRT: rpcd's configuration in the CNF's container is
   * replaced. Needs no Secret, and is only for OpenWRTs that speak ubus.
   */
  ownLogin: boolean;
  /** The container that runs OpenWRT; default: the pod's first. */
  openwrtContainer?: string | undefined;
  /** Secret in the pod's namespace with `password`, and `username` unless `root`, for OpenWRT. */
  loginSecret?: string | undefined;
  /** Secret in the pod's namespace whose `ca.crt` signs OpenWRT's certificate. */
  openwrtCaSecret?: string | undefined;
  /** Seconds, or `off`; the agent's own default when absent. */
  commitConfirm?: string | undefined;
  logLevel: LogLevel;
  resources: { requests: Record<string, string>; limits: Record<string, string> };
  /** Kinds that the pod's service account cannot read, so that the agent does not wait for them. */
  withoutKinds?: readonly string[] | undefined;
};
