/**
 * Certificates on a real API server: replicas that begin at once serve the same, and what others
 * provide is used as it is.
 */
import { ALWAYS_LEADING } from '#shared/kube/testing/controller.ts';
import { connectCluster } from 'kind-test-harness';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { resourceV1 } from '#shared/kube/objects.ts';
import { createKubeClient, type KubeClient } from '#shared/kube/client.ts';
import { loadKubeConfig } from '#shared/kube/config.ts';
import { systemClock } from '#shared/runtime/clock.ts';
import { silentLogger } from '#shared/runtime/log.ts';
import { createMetricsRegistry } from '#shared/metrics/registry.ts';
import { createCa, issueServing } from '../../../coordinator/controllers/certificates/x509.ts';
import { coordinatorEnvSchema } from '../../../coordinator/env.ts';
import { createMetrics } from '../../../coordinator/metrics.ts';
import { createTls, type Tls } from '../../../coordinator/tls.ts';

const secrets = resourceV1('', 'secrets', 'Secret');
const stop = new AbortController();

let client: KubeClient;
let namespace: string;
beforeAll(async () => {
  const cluster = await connectCluster();
  namespace = await cluster.createNamespace('certificates');
  client = createKubeClient({ config: await loadKubeConfig({ kubeconfig: cluster.kubeconfig }) });
});
afterAll(async () => {
  stop.abort();
  await client.close();
});

const replica = (secret: string): Promise<Tls> =>
  createTls(
    {
      env: coordinatorEnvSchema.parse({
        SDEWAN_CERTIFICATE_SECRET: secret,
        SDEWAN_CERTIFICATE_POLL_MS: '200',
        SDEWAN_WEBHOOK_CONFIGURATION: 'none-of-this-test',
      }),
      client,
      namespace,
      registry: createMetricsRegistry(),
      metrics: createMetrics(createMetricsRegistry()),
      leadership: ALWAYS_LEADING,
      clock: systemClock,
      log: silentLogger,
    },
    stop.signal,
  );

const served = ({ source }: Tls): string => ('serving' in source ? source.serving().cert : '');

it('several replicas that start at once serve one certificate of one CA', async () => {
  const replicas = await Promise.all(Array.from({ length: 4 }, () => replica('shared')));
  expect(new Set(replicas.map(served)).size).toBe(1);
  expect(new Set(replicas.map(({ bundle }) => bundle?.())).size).toBe(1);
});

const validity = { issuedAt: Date.now(), lifetimeMs: 3_600_000 };
const NAME = 'sdewan-coordinator.sdewan-system.svc';

it('serves a Secret of others, never writes it, and follows its renewal', async () => {
  const ca = await createCa('a company', validity);
  const encode = (text: string): string => Buffer.from(text).toString('base64');
  const provide = async (): Promise<{ cert: string; data: Record<string, string> }> => {
    const { cert, key } = await issueServing(ca, [NAME], validity);
    const data = { 'ca.crt': encode(ca.cert), 'tls.crt': encode(cert), 'tls.key': encode(key) };
    return { cert, data };
  };
  const first = await provide();
  const body = { apiVersion: 'v1', kind: 'Secret', type: 'kubernetes.io/tls' };
  const key = { namespace, name: 'provided' };
  await client.create(secrets, { ...body, metadata: key, data: first.data });
  const tls = await replica('provided');
  expect(served(tls)).toBe(first.cert);
  expect(tls.bundle?.().trim()).toBe(ca.cert.trim());
  const running = tls.run(stop.signal);
  const second = await provide();
  const patched = await client.patch(secrets, key, {
    patch: { type: 'merge', body: { data: second.data } },
  });
  await expect.poll(() => served(tls)).toBe(second.cert);
  const after = await client.get(secrets, key);
  expect(after.metadata.resourceVersion).toBe(patched.metadata.resourceVersion);
  stop.abort();
  await running;
});
