/** What injection can be told; the webhook fills it from defaults and annotations, the CLI from flags. */

export type InjectOptions = {
  image: string;
  /** Base URL of the coordinator's report intake, https. */
  coordinatorUrl: string;
  /** ConfigMap in the pod's namespace whose `ca.crt` signs the coordinator's certificate. */
  coordinatorCaConfigMap: string;
  /** OpenWRT as seen from the pod, e.g. `http://127.0.0.1:80`. */
  openwrtUrl: string;
  driver: 'auto' | 'ubus' | 'icn';
  /** Secret in the pod's namespace with `username` and `password` of the agent's login on OpenWRT. */
  loginSecret: string;
  logLevel: string;
  resources: { requests: Record<string, string>; limits: Record<string, string> };
};
