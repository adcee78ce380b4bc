/** The coordinator's environment, read once at its start. The table in docs/ is made from it. */
import * as z from 'zod';
import { driverChoices } from '#shared/inject/drivers.ts';
import { logLevels, type InjectOptions } from '#shared/inject/options.ts';
import { kubeEnv } from '#shared/kube/env.ts';
import { COORDINATOR_CA_CONFIG_MAP } from '#shared/names.ts';
import { envField } from '#shared/runtime/env.ts';
import { hostIn, isLoopback } from '#shared/http/loopback.ts';
import { referenceModes } from './admission/decide.ts';

import {
  RESERVED_PORTS,
  type ExposeOptions,
} from './controllers/generated-rules/kubernetes-services/wanted-rules.ts';
import type { CertificatePolicy } from './controllers/certificates/decide.ts';
import type { RegistryOptions } from './controllers/fleet/updates/registry.ts';
import type { CloudFile } from './neutron/cloud.ts';

const DAY_MS = 86_400_000;
/** Whether the network cannot read along. */
const isPrivate = (url: string): boolean => {
  const parsed = new URL(url);
  return parsed.protocol === 'https:' || isLoopback(hostIn(parsed));
};
const lifetime = () => envField.int(1_000, 3_650 * DAY_MS);
const quantity = (example: string) =>
  z.string().regex(/^[0-9]+(\.[0-9]+)?(m|k|Ki|M|Mi|G|Gi)?$/, {
    error: `must be a quantity such as ${example}`,
  });

export const coordinatorEnvSchema = z.object({
  SDEWAN_REPORT_HOST: envField
    .text()
    .default('0.0.0.0')
    .describe('Address that serves reports of agents and admission reviews.'),
  SDEWAN_REPORT_PORT: envField.port().default(8_443).describe('Its port; 0 selects a free one.'),
  SDEWAN_TLS_CERT_FILE: envField
    .text()
    .optional()
    .describe(
      'PEM file with its certificate, read again when it changes. If you set it together with the key file, you distribute certificate and CA yourself; otherwise the coordinator does.',
    ),
  SDEWAN_TLS_KEY_FILE: envField.text().optional().describe('PEM file with its key.'),
  SDEWAN_WEBHOOK_TOKEN_FILE: envField
    .text()
    .optional()
    .describe(
      'File with the 32 hex digits that paths of webhooks end in, read again when it changes; only with the two files above. The paths in the webhook configurations are then yours to write. Without it the coordinator answers no webhook.',
    ),
  SDEWAN_WEBHOOK_CLIENT_CA_FILE: envField
    .text()
    .optional()
    .describe(
      'PEM file with the CAs of the certificates that API servers present to webhooks, read again when it changes. Then a webhook refuses clients without one. Not set: it asks for none, since few API servers have one.',
    ),
  SDEWAN_CERTIFICATE_SECRET: envField
    .text()
    .default('sdewan-coordinator-tls')
    .describe(
      'Secret with CA, certificate and the ends of the webhooks’ paths. If another program, such as cert-manager, writes it (`ca.crt`, `tls.crt`, `tls.key`), the coordinator uses it as it is.',
    ),
  SDEWAN_CERTIFICATE_NAMES: envField
    .list()
    .default([])
    .describe(
      'DNS names and IP addresses in the certificate, separated by commas; default: those of the Service `sdewan-coordinator`.',
    ),
  SDEWAN_CA_LIFETIME_MS: lifetime()
    .default(365 * DAY_MS)
    .describe('Lifetime of a CA. The coordinator announces a new one when two thirds have passed.'),
  SDEWAN_CERTIFICATE_LIFETIME_MS: lifetime()
    .default(30 * DAY_MS)
    .describe('Lifetime of a certificate. The coordinator renews it when two thirds have passed.'),
  SDEWAN_CA_OVERLAP_MS: lifetime()
    .default(DAY_MS)
    .describe(
      'Time between the announcement of a CA and its first use, and between its last use and its end, so that it reaches every agent. At most a quarter of its lifetime.',
    ),
  SDEWAN_CERTIFICATE_POLL_MS: envField
    .int(100, 600_000)
    .default(10_000)
    .describe(
      'Interval of reading the Secret, which another replica or cert-manager may have written.',
    ),
  SDEWAN_WEBHOOK_CONFIGURATION: envField
    .text()
    .default('sdewan-coordinator')
    .describe(
      'Name of the ValidatingWebhookConfiguration and the MutatingWebhookConfiguration whose caBundle and paths the coordinator maintains.',
    ),
  SDEWAN_REFERENCE_CHECKS: z
    .enum(referenceModes)
    .default('deny')
    .describe(
      'What admission does when a reference or a network does not exist, or when a rule that others refer to is deleted: `deny`, `warn` or `off`. The annotation `sdewan.akraino.org/references` of a rule takes precedence.',
    ),
  SDEWAN_BUCKET_TYPES: envField
    .list()
    .default(['basic', 'app-intent', 'k8s-service'])
    .describe('Values that the label `sdewan-bucket-type` may have, separated by commas.'),
  SDEWAN_AGENT_IMAGE: envField
    .text()
    .default('sdewan-agent:dev')
    .describe('Image of injected agents.'),
  SDEWAN_AGENT_COORDINATOR_URL: envField
    .urls()
    .optional()
    .describe(
      "URLs that injected agents report to, separated by commas; default: the headless Service `sdewan-coordinator-reports` in the coordinator's namespace, port 8443, with the name of Service `sdewan-coordinator` in the certificate.",
    ),
  SDEWAN_AGENT_OPENWRT_URL: envField
    .url()
    .default('http://127.0.0.1:80')
    .describe('URL of OpenWRT, as injected agents see it.'),
  SDEWAN_AGENT_DRIVER: z.enum(driverChoices).default('auto').describe('Their driver.'),
  SDEWAN_AGENT_OWN_LOGIN: envField
    .flag()
    .default(true)
    .describe('Whether they create a login of their own on OpenWRT.'),
  SDEWAN_AGENT_LOG_LEVEL: z.enum(logLevels).default('info').describe('Lowest level that they log.'),
  // From test/bench/node-agent.ts; the figures are in docs/development.md.
  SDEWAN_AGENT_CPU_REQUEST: quantity('20m')
    .default('20m')
    .describe('CPU request of their containers.'),
  SDEWAN_AGENT_CPU_LIMIT: quantity('500m')
    .optional()
    .describe('CPU limit of their containers, where a quota asks for one; default: none.'),
  SDEWAN_AGENT_MEMORY_REQUEST: quantity('64Mi')
    .default('64Mi')
    .describe('Memory request of their containers.'),
  SDEWAN_AGENT_MEMORY_LIMIT: quantity('128Mi')
    .default('128Mi')
    .describe('Memory limit of their containers.'),
  SDEWAN_HTTP_HOST: envField
    .text()
    .default('0.0.0.0')
    .describe('Address of `/healthz`, `/readyz` and `/metrics`, plain http.'),
  SDEWAN_HTTP_PORT: envField.port().default(9_465).describe('Its port; 0 selects a free one.'),
  SDEWAN_SILENT_AFTER_MS: envField
    .int(1_000, 3_600_000)
    .default(45_000)
    .describe(
      'An agent that has not reported for this long is silent, and its pod is not in sync. A coordinator that begins to lead lowers no status for want of reports before it and those before it have led for that time without one. Must be longer than three heartbeats.',
    ),
  SDEWAN_EXPOSE_SERVICES: envField
    .flag()
    .default(true)
    .describe(
      'Whether Services with the annotation `sdewan.akraino.org/expose` get FirewallDNATs. Anyone who can write a Service can then open a port of a CNF of the same namespace, and of one that accepts its namespace.',
    ),
  SDEWAN_EXPOSE_ALL_TO: envField
    .text()
    .optional()
    .describe(
      "namespace/purpose of the CNF that exposes all Services without such an annotation, or purpose alone for the one of each namespace; default: none. Services of `kube-system` and of the coordinator's namespace, and `default/kubernetes`, always need the annotation.",
    ),
  SDEWAN_EXPOSE_ZONE: envField
    .text()
    .optional()
    .describe(
      'FirewallZone that clients of Services come from, for Services without the annotation `sdewan.akraino.org/expose-zone`.',
    ),
  SDEWAN_EXPOSE_RESERVED_PORTS: envField
    .list()
    .default([...RESERVED_PORTS])
    .describe(
      'Ports of CNFs that no Service gets, separated by commas: those by which CNFs are managed, and those of IKE.',
    ),
  SDEWAN_SELECT_PODS_WITHOUT_CONSENT: envField
    .flag()
    .default(false)
    .describe(
      'Whether an SdewanApplication selects pods of any namespace, as with ICN. Anyone who can write one then sees the addresses of all pods, and leads their packets. Otherwise it selects those of its own namespace, and of namespaces whose annotation `sdewan.akraino.org/accepts-services-from` names its own.',
    ),
  SDEWAN_DNS_SERVERS: envField
    .list()
    .default([])
    .describe(
      'DNS servers for the host names of CNFService, CNFLocalService and CNFHubSite, as address or address:port, separated by commas; default: those of the pod.',
    ),
  SDEWAN_DNS_MIN_TTL_MS: envField
    .int(100, 3_600_000)
    .default(5_000)
    .describe('An answer of the DNS is valid for its TTL, but at least this long.'),
  SDEWAN_DNS_MAX_TTL_MS: envField
    .int(1_000, 86_400_000)
    .default(300_000)
    .describe('An answer of the DNS is valid for at most this long.'),
  SDEWAN_WATCH_NAMESPACE: envField
    .text()
    .optional()
    .describe('The only namespace whose rules and pods the coordinator manages; default: all.'),
  POD_NAMESPACE: envField
    .text()
    .optional()
    .describe(
      "The coordinator's namespace, where the certificate Secret is; default: that of the service account.",
    ),
  SDEWAN_DASHBOARD_URL: envField
    .url()
    .refine(isPrivate, 'must be on loopback, or https')
    .optional()
    .describe(
      'Where the [dashboard](dashboard.md) is served; port 0 selects a free one. `http` on loopback, which a port-forward reaches; `https` on any address, with the certificate of the coordinator. Not set: there is no dashboard.',
    ),
  SDEWAN_OPENSTACK_CLOUD_FILE: envField
    .text()
    .optional()
    .describe(
      'File `clouds.yaml` of a mounted Secret, with the OpenStack in whose Neutron [policies are enforced](policies.md#in-neutron), and pods get [ports](network-ports.md#ports-in-neutron); read again for each token. Not set: OpenStack is never called.',
    ),
  SDEWAN_OPENSTACK_CLOUD: envField
    .text()
    .optional()
    .describe('Which of the clouds in it; default: the only one.'),
  SDEWAN_CLUSTER_ID: envField
    .text()
    .regex(/^[0-9a-f]{8}$/, 'must have eight hexadecimal digits')
    .optional()
    .describe(
      'Eight hexadecimal digits that mark what is ours in Neutron; default: the first of the uid of namespace `kube-system`. Set it in [a copy of a cluster](network-ports.md#ports-in-neutron), before its coordinator starts first.',
    ),
  SDEWAN_NEUTRON_RESYNC_MS: envField
    .int(1_000, 3_600_000)
    .default(60_000)
    .describe(
      'Interval of whole looks at our ports and groups in Neutron, so that what another user or program has changed there is put back.',
    ),
  SDEWAN_REGISTRIES: envField
    .list()
    .default([])
    .describe(
      'Registries that the coordinator asks what tags stand for, for [updates in a window](fleet.md#updates-in-a-window), as images name them: `docker.io`, `registry.example.com:5000`, separated by commas. Those of the following file need not be named. Servers that registries send to for tokens are named here as well, unless they are the same.',
    ),
  SDEWAN_REGISTRY_CONFIG_FILE: envField
    .text()
    .optional()
    .describe(
      "Docker's `config.json` of a mounted Secret, with logins at registries; read again for each look-up. Not set: without a login.",
    ),
  SDEWAN_REGISTRY_CA_FILE: envField
    .text()
    .optional()
    .describe(
      'PEM file with CAs of certificates of registries, besides those that Node has; read again for each look-up.',
    ),
  SDEWAN_REGISTRY_NETWORKS: envField
    .list()
    .pipe(z.array(z.union([z.cidrv4(), z.cidrv6()])))
    .default([])
    .describe(
      'Networks in which registries may have addresses although the Internet does not reach them, such as `10.0.0.0/8`, separated by commas. Not set: none, nor loopback.',
    ),
  SDEWAN_REGISTRY_TAGS_MS: envField
    .int(1_000, 86_400_000)
    .default(300_000)
    .describe('How long it is known what a tag stands for, before its registry is asked again.'),
  SDEWAN_DRAIN_MS: envField
    .int(0, 60_000)
    .default(5_000)
    .describe(
      'How long the coordinator still serves after SIGTERM, because calls come until every node knows that it goes.',
    ),
  POD_NAME: envField
    .text()
    .optional()
    .describe(
      "The pod's name, as the source of Events and as the holder of the Lease. A container that restarts in the same pod leads again at once.",
    ),
  SDEWAN_LEASE: envField
    .text()
    .default('sdewan-coordinator')
    .describe(
      'Lease in the same namespace; of all coordinators that use it one writes, the others answer webhooks and take reports.',
    ),

  OTEL_EXPORTER_OTLP_ENDPOINT: envField
    .url()
    .optional()
    .describe(
      'Where an OpenTelemetry collector takes OTLP over HTTP, such as `http://collector:4318`: the coordinator sends it [traces of changes](traces.md). Headers, certificates and timeouts are set by the other variables that OpenTelemetry has for exporters. Not set: none are made.',
    ),
  ...kubeEnv,
  SDEWAN_LOG_LEVEL: envField.logLevel().default('info').describe('Lowest level that is logged.'),
});

export type CoordinatorEnv = z.infer<typeof coordinatorEnvSchema>;

export const exposeOptionsOf = (
  env: CoordinatorEnv,
  namespace: string,
): ExposeOptions | undefined =>
  env.SDEWAN_EXPOSE_SERVICES
    ? {
        allTo: env.SDEWAN_EXPOSE_ALL_TO,
        zone: env.SDEWAN_EXPOSE_ZONE,
        exceptNamespaces: ['kube-system', namespace],
        reservedPorts: env.SDEWAN_EXPOSE_RESERVED_PORTS,
      }
    : undefined;

/** Undefined: there is no OpenStack. */
export const cloudFileOf = (env: CoordinatorEnv): CloudFile | undefined =>
  env.SDEWAN_OPENSTACK_CLOUD_FILE === undefined
    ? undefined
    : { path: env.SDEWAN_OPENSTACK_CLOUD_FILE, name: env.SDEWAN_OPENSTACK_CLOUD };

export const registriesOf = (env: CoordinatorEnv): RegistryOptions & { tagsMs: number } => ({
  tagsMs: env.SDEWAN_REGISTRY_TAGS_MS,
  hosts: env.SDEWAN_REGISTRIES,
  configFile: env.SDEWAN_REGISTRY_CONFIG_FILE,
  caFile: env.SDEWAN_REGISTRY_CA_FILE,
  networks: env.SDEWAN_REGISTRY_NETWORKS,
});

type DnsOptions = { servers: readonly string[]; minTtlMs: number; maxTtlMs: number };

export const dnsOptionsOf = (env: CoordinatorEnv): DnsOptions => ({
  servers: env.SDEWAN_DNS_SERVERS,
  minTtlMs: env.SDEWAN_DNS_MIN_TTL_MS,
  maxTtlMs: env.SDEWAN_DNS_MAX_TTL_MS,
});

const SERVICE = 'sdewan-coordinator';
const SERVICE_PORT = 8_443;

export const certificatePolicyOf = (env: CoordinatorEnv, namespace: string): CertificatePolicy => ({
  names:
    env.SDEWAN_CERTIFICATE_NAMES.length > 0
      ? env.SDEWAN_CERTIFICATE_NAMES
      : ['', '.svc', '.svc.cluster.local'].map((end) => `${SERVICE}.${namespace}${end}`),
  caLifetimeMs: env.SDEWAN_CA_LIFETIME_MS,
  servingLifetimeMs: env.SDEWAN_CERTIFICATE_LIFETIME_MS,
  overlapMs: env.SDEWAN_CA_OVERLAP_MS,
});

export const injectOptionsOf = (env: CoordinatorEnv, namespace: string): InjectOptions => ({
  image: env.SDEWAN_AGENT_IMAGE,
  coordinatorUrl:
    env.SDEWAN_AGENT_COORDINATOR_URL?.join() ??
    `https://${SERVICE}-reports.${namespace}.svc:${SERVICE_PORT}`,
  ...(!env.SDEWAN_AGENT_COORDINATOR_URL && {
    coordinatorServerName: `${SERVICE}.${namespace}.svc`,
  }),
  coordinatorCaConfigMap: COORDINATOR_CA_CONFIG_MAP,
  openwrtUrl: env.SDEWAN_AGENT_OPENWRT_URL,
  driver: env.SDEWAN_AGENT_DRIVER,
  ownLogin: env.SDEWAN_AGENT_OWN_LOGIN,
  logLevel: env.SDEWAN_AGENT_LOG_LEVEL,
  resources: {
    requests: { cpu: env.SDEWAN_AGENT_CPU_REQUEST, memory: env.SDEWAN_AGENT_MEMORY_REQUEST },
    limits: {
      ...(env.SDEWAN_AGENT_CPU_LIMIT !== undefined && { cpu: env.SDEWAN_AGENT_CPU_LIMIT }),
      memory: env.SDEWAN_AGENT_MEMORY_LIMIT,
    },
  },
});
