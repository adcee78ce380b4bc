/** Everything that the coordinator is told from outside, read once at its start. The table in docs/ is made from this schema. */
import * as z from 'zod';
import { driverChoices } from '#shared/inject/drivers.ts';
import { logLevels, type InjectOptions } from '#shared/inject/options.ts';
import { kubeEnv } from '#shared/kube/env.ts';
import { COORDINATOR_CA_CONFIG_MAP } from '#shared/names.ts';
import { envField } from '#shared/runtime/env.ts';
import { referenceModes } from './admission/decide.ts';
import type { GeneratorsOptions } from './generators.ts';
import type { ExposeOptions } from './services/claims.ts';
import type { CertificatePolicy } from './certificates/plan.ts';

const DAY_MS = 86_400_000;
const lifetime = () => envField.int(1_000, 3_650 * DAY_MS);
const quantity = (usual: string) =>
  z
    .string()
    .regex(/^[0-9]+(\.[0-9]+)?(m|k|Ki|M|Mi|G|Gi)?$/, {
      error: `must be a quantity such as ${usual}`,
    })
    .default(usual);

export const coordinatorEnvSchema = z.object({
  SDEWAN_REPORT_HOST: envField
    .text()
    .default('0.0.0.0')
    .describe('Address on which reports of agents and admission reviews are taken.'),
  SDEWAN_REPORT_PORT: envField.port().default(8_443).describe('Its port; 0 takes a free one.'),
  SDEWAN_TLS_CERT_FILE: envField
    .text()
    .optional()
    .describe(
      'PEM file with the certificate for it, read again when it changes. Set it together with the key file to bring certificates and CA to everybody yourself; without them the coordinator does it.',
    ),
  SDEWAN_TLS_KEY_FILE: envField.text().optional().describe('PEM file with its key.'),
  SDEWAN_CERTIFICATE_SECRET: envField
    .text()
    .default('sdewan-coordinator-tls')
    .describe(
      'Secret for CA and certificate. One that somebody else filled (`ca.crt`, `tls.crt`, `tls.key`), e.g. cert-manager, is used as it is.',
    ),
  SDEWAN_CERTIFICATE_NAMES: envField
    .list()
    .default([])
    .describe(
      'DNS names and IP addresses for the certificate, separated by commas; default: those of Service `sdewan-coordinator`.',
    ),
  SDEWAN_CA_LIFETIME_MS: lifetime()
    .default(365 * DAY_MS)
    .describe('Life of a CA. A new one is announced when two thirds are over.'),
  SDEWAN_CERTIFICATE_LIFETIME_MS: lifetime()
    .default(30 * DAY_MS)
    .describe('Life of a certificate. It is renewed when two thirds are over.'),
  SDEWAN_CA_OVERLAP_MS: lifetime()
    .default(DAY_MS)
    .describe(
      'From the announcement of a CA to its first use, and from its last use to its end: for it to reach every agent. At most a quarter of its life.',
    ),
  SDEWAN_CERTIFICATE_POLL_MS: envField
    .int(100, 600_000)
    .default(10_000)
    .describe('Between looks at the Secret for what another replica or cert-manager wrote.'),
  SDEWAN_WEBHOOK_CONFIGURATION: envField
    .text()
    .default('sdewan-coordinator')
    .describe(
      'Name of the ValidatingWebhookConfiguration and the MutatingWebhookConfiguration whose caBundle is kept.',
    ),
  SDEWAN_REFERENCE_CHECKS: z
    .enum(referenceModes)
    .default('deny')
    .describe(
      'What admission makes of references and networks that do not exist, and of deletions of what is used: `deny`, `warn` or `off`. Annotation `sdewan.akraino.org/references` of a CR takes precedence.',
    ),
  SDEWAN_BUCKET_TYPES: envField
    .list()
    .default(['basic', 'app-intent', 'k8s-service'])
    .describe('Values that label `sdewan-bucket-type` may have, separated by commas.'),
  SDEWAN_AGENT_IMAGE: envField
    .text()
    .default('sdewan-agent:dev')
    .describe('Image of the agents that are injected.'),
  SDEWAN_AGENT_COORDINATOR_URL: envField
    .url()
    .optional()
    .describe(
      'Where injected agents report to; default: Service `sdewan-coordinator` of the own namespace, port 8443.',
    ),
  SDEWAN_AGENT_OPENWRT_URL: envField
    .url()
    .default('http://127.0.0.1:80')
    .describe('OpenWRT as injected agents see it.'),
  SDEWAN_AGENT_DRIVER: z.enum(driverChoices).default('auto').describe('Their driver.'),
  SDEWAN_AGENT_OWN_LOGIN: envField
    .flag()
    .default(true)
    .describe('Whether they make a login of their own on OpenWRT.'),
  SDEWAN_AGENT_LOG_LEVEL: z.enum(logLevels).default('info').describe('Least level that they log.'),
  // From test/bench/node-agent.ts; the figures are in docs/development.md.
  SDEWAN_AGENT_CPU_REQUEST: quantity('20m').describe('CPU request of their containers.'),
  SDEWAN_AGENT_MEMORY_REQUEST: quantity('64Mi').describe('Memory request of their containers.'),
  SDEWAN_AGENT_MEMORY_LIMIT: quantity('128Mi').describe('Memory limit of their containers.'),
  SDEWAN_HTTP_HOST: envField
    .text()
    .default('0.0.0.0')
    .describe('Address of `/healthz`, `/readyz` and `/metrics`, plain http.'),
  SDEWAN_HTTP_PORT: envField.port().default(9_465).describe('Its port; 0 takes a free one.'),
  SDEWAN_SILENT_AFTER_MS: envField
    .int(1_000, 3_600_000)
    .default(45_000)
    .describe(
      'An agent not heard of for this long is silent: its pod is not in sync. Also the time that agents have after a start of the coordinator before a status is lowered for want of a report. More than three of their heartbeats.',
    ),
  SDEWAN_EXPOSE_SERVICES: envField
    .flag()
    .default(true)
    .describe(
      'Whether Services with annotation `sdewan.akraino.org/expose` get FirewallDNATs. Whoever may write a Service can then open a port of a CNF.',
    ),
  SDEWAN_EXPOSE_ALL_TO: envField
    .text()
    .optional()
    .describe(
      'Purpose, or namespace/purpose, of the CNF that exposes all Services that do not say otherwise; default: none does. Those of `kube-system` and of the own namespace, and `default/kubernetes`, have to ask all the same.',
    ),
  SDEWAN_EXPOSE_ZONE: envField
    .text()
    .optional()
    .describe(
      'FirewallZone that clients of Services come from, where annotation `sdewan.akraino.org/expose-zone` does not say.',
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
    .describe('An answer of the DNS holds for its TTL, but at least this long.'),
  SDEWAN_DNS_MAX_TTL_MS: envField
    .int(1_000, 86_400_000)
    .default(300_000)
    .describe('And at most this long.'),
  SDEWAN_WATCH_NAMESPACE: envField
    .text()
    .optional()
    .describe('Only rules and pods of this namespace are looked after; default: of all.'),
  POD_NAMESPACE: envField
    .text()
    .optional()
    .describe(
      'Own namespace, where the certificate Secret is; default: that of the service account.',
    ),
  POD_NAME: envField
    .text()
    .default('sdewan-coordinator')
    .describe("The pod's name, as the source of Events."),

  ...kubeEnv,
  SDEWAN_LOG_LEVEL: envField.logLevel().default('info').describe('Least level that is logged.'),
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
      }
    : undefined;

export const dnsOptionsOf = (env: CoordinatorEnv): GeneratorsOptions['dns'] => ({
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
    env.SDEWAN_AGENT_COORDINATOR_URL ?? `https://${SERVICE}.${namespace}.svc:${SERVICE_PORT}`,
  coordinatorCaConfigMap: COORDINATOR_CA_CONFIG_MAP,
  openwrtUrl: env.SDEWAN_AGENT_OPENWRT_URL,
  driver: env.SDEWAN_AGENT_DRIVER,
  ownLogin: env.SDEWAN_AGENT_OWN_LOGIN,
  logLevel: env.SDEWAN_AGENT_LOG_LEVEL,
  resources: {
    requests: { cpu: env.SDEWAN_AGENT_CPU_REQUEST, memory: env.SDEWAN_AGENT_MEMORY_REQUEST },
    limits: { memory: env.SDEWAN_AGENT_MEMORY_LIMIT },
  },
});
