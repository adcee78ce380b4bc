/** Where the coordinator's certificate comes from: files that others keep, or its own Secret. */
import type { KubeClient } from '#shared/kube/client.ts';
import type { Leadership } from '#shared/kube/leadership.ts';
import type { Clock } from '#shared/runtime/clock.ts';
import type { TlsFiles, TlsSource } from '#shared/http/server.ts';
import type { Logger } from '#shared/runtime/log.ts';
import type { Registry } from '#shared/metrics/prometheus.ts';
import { createCertificates } from './controllers/certificates/controller.ts';
import { isGoodToken, withNewToken } from './controllers/certificates/path-tokens.ts';
import { createSecretStore } from './controllers/certificates/secret-store.ts';
import { publishWebhooks } from './controllers/certificates/webhook-configurations.ts';
import { watchFiles } from '#shared/http/rotated-file.ts';
import { certificatePolicyOf, type CoordinatorEnv } from './env.ts';
import { exposeExpiry, type Metrics } from './metrics.ts';

export type Tls = {
  /** For the server. */
  source: TlsFiles | TlsSource;
  /** PEM of the CAs that agents and API server must trust; undefined where others do that. */
  bundle: (() => string) | undefined;
  onBundle: (listener: () => void) => void;
  /** Whether the API server was told to call paths that end in it. */
  isGoodToken: (token: string) => boolean;
  run: (signal: AbortSignal) => Promise<void>;
};

export type TlsOptions = {
  env: CoordinatorEnv;
  client: KubeClient;
  /** The coordinator's own. */
  namespace: string;
  registry: Registry;
  metrics: Metrics;
  leadership: Leadership;
  clock: Clock;
  log: Logger;
};

/** Resolves when there is a certificate to serve with. @throws when there can be none */
export const createTls = async (options: TlsOptions, signal: AbortSignal): Promise<Tls> => {
  const { SDEWAN_TLS_CERT_FILE: certFile, SDEWAN_TLS_KEY_FILE: keyFile } = options.env;
  if (certFile === undefined || keyFile === undefined) return createOwnTls(options, signal);
  return {
    source: { certFile, keyFile },
    bundle: undefined,
    onBundle: () => undefined,
    isGoodToken: await tokenFile(options, signal),
    run: async () => undefined,
  };
};

/** Without the file no caller may use the webhooks. */
const tokenFile = async (
  { env, clock, log }: TlsOptions,
  signal: AbortSignal,
): Promise<Tls['isGoodToken']> => {
  const { SDEWAN_WEBHOOK_TOKEN_FILE: path } = env;
  if (path === undefined) return () => false;
  const first = await watchFiles({
    paths: [path],
    signal,
    clock,
    onError: (err) => log.warn({ err }, 'the new token of the webhooks cannot be read'),
    onChange: ([text = '']) => {
      tokens = withNewToken(tokens, clock.now(), text.trim());
    },
  });
  let tokens = withNewToken([], clock.now(), first.join('').trim());
  return (token) => isGoodToken(tokens, token, clock.now(), 0);
};

const createOwnTls = async (
  { env, client, namespace, registry, metrics, leadership, clock, log }: TlsOptions,
  signal: AbortSignal,
): Promise<Tls> => {
  const certificates = createCertificates({
    store: createSecretStore(client, { namespace, name: env.SDEWAN_CERTIFICATE_SECRET }),
    policy: certificatePolicyOf(env, namespace),
    publish: (published) =>
      publishWebhooks(client, env.SDEWAN_WEBHOOK_CONFIGURATION, published, signal),
    pollMs: env.SDEWAN_CERTIFICATE_POLL_MS,
    metrics,
    leadership,
    clock,
    log,
  });
  await certificates.prepare(signal);
  exposeExpiry(registry, certificates.expiresAt);
  return {
    source: certificates,
    bundle: certificates.bundle,
    onBundle: certificates.onBundle,
    isGoodToken: certificates.isGoodToken,
    run: certificates.run,
  };
};
