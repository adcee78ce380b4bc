/** The coordinator as a program: environment in, servers up, stops on SIGTERM. */
import { randomUUID } from 'node:crypto';
import { createKubeClient } from '#shared/kube/client.ts';
import { loadKubeConfig } from '#shared/kube/config.ts';
import { configSourceOf } from '#shared/kube/env.ts';
import { createClientCounter } from '#shared/kube/figures.ts';
import { createElection, leadersClient, LEASE_MS } from '#shared/kube/leadership.ts';
import { createLease } from '#shared/kube/lease.ts';
import { revisionOf } from '#shared/compile/revision.ts';
import { agentKinds, kinds } from '#shared/resources/registry.ts';
import { policyEnforcementResource } from '#shared/resources/other-kinds/policy-enforcement.ts';
import { resources } from '#shared/resources/resources.ts';
import { systemClock } from '#shared/runtime/clock.ts';
import { readEnv } from '#shared/runtime/env.ts';
import {
  isKnownClient,
  serveApp,
  type RunningServer,
  type ServeOptions,
} from '#shared/http/server.ts';
import { hostIn } from '#shared/http/loopback.ts';
import { runProgram } from '#shared/runtime/lifecycle.ts';
import { createLogger, type Logger } from '#shared/runtime/log.ts';
import { createMetricsRegistry } from '#shared/metrics/registry.ts';
import type { Registry } from '#shared/metrics/prometheus.ts';
import { indexKeysOf } from './admission/index-keys.ts';
import { createCoordinator, type Coordinator } from './coordinator.ts';
import { createRollOutMetrics } from './controllers/fleet/metrics.ts';
import { createPolicyMetrics } from './controllers/network-policy/metrics.ts';
import { createPortMetrics } from './controllers/network-ports/metrics.ts';
import type { Dashboard, DashboardOptions } from './dashboard/dashboard.ts';
import {
  cloudFileOf,
  coordinatorEnvSchema,
  dnsOptionsOf,
  exposeOptionsOf,
  injectOptionsOf,
  registriesOf,
  type CoordinatorEnv,
} from './env.ts';
import { createGenerators, type Generators, type GeneratorsOptions } from './generators.ts';
import { createHealth } from './health.ts';
import { createMetrics, createNeutronMetrics } from './metrics.ts';
import { createNeutron } from './neutron/neutron.ts';
import { createRefusedPodsController } from './controllers/refused-pods/controller.ts';
import { createApiServerSeen } from './reports/api-server.ts';
import { MissingReports } from './controllers/rules/missing-reports.ts';
import { createTls, type Tls } from './tls.ts';
import { ADMISSION_PATH } from './controllers/certificates/webhook-configurations.ts';
import { createWebhooks, type Webhooks } from './webhooks.ts';
import { startTracing } from './tracing/tracing.ts';

/** The specs of these are read: pods are selected by them, or they are compared. */
const readKinds = new Set(
  kinds
    .filter(({ pods, isMadeByCoordinator }) => pods ?? isMadeByCoordinator)
    .map(({ kind }) => kind),
);

/** With the time for which it still serves. */
const GRACE_MS = 15_000;

const main = async (signal: AbortSignal): Promise<void> => {
  const env = readEnv(coordinatorEnvSchema, process.env);
  const log = createLogger({ name: 'sdewan-coordinator', level: env.SDEWAN_LOG_LEVEL });
  const { apiServer, client, common, missing, ownNamespace, server } = await connect(env, log);
  const { leadership: election, registry } = common;
  const instance = env.POD_NAME ?? 'sdewan-coordinator';
  const tracing = await startTracing(env.OTEL_EXPORTER_OTLP_ENDPOINT, { instance, log });
  const coordinator = createCoordinator({
    ...common,
    tracing,
    kinds: [...agentKinds, policyEnforcementResource],
    revisionOf,
    indexKeysOf,
    isRead: (kind) => readKinds.has(kind),
    silentAfterMs: env.SDEWAN_SILENT_AFTER_MS,
    wasApiServerAway: apiServer.wasAway,
    missingReports: missing,
    instance,
    onPod: (change) => {
      webhooks.onPod(change);
      generators.onPod(change);
      dashboard?.mark();
    },
    onReport: (pod) => {
      generators.onReport(pod);
      dashboard?.mark();
    },
    onCounters: (pod) => generators.onCounters(pod),
    onRule: (uid) => {
      generators.onRule(uid);
      dashboard?.mark();
    },
    // One that looks after one namespace does not know all CNFs.
    classicStatusNamespace: env.SDEWAN_WATCH_NAMESPACE === undefined ? ownNamespace : undefined,
  });
  const electing = election.run(signal);
  const tls = await createTls({ ...common, env, namespace: ownNamespace }, signal);
  const webhooks: Webhooks = createWebhooks({
    ...common,
    kinds,
    resources,
    referenceMode: env.SDEWAN_REFERENCE_CHECKS,
    bucketTypes: env.SDEWAN_BUCKET_TYPES,
    inject: injectOptionsOf(env, ownNamespace),
    sources: coordinator.sources,
    caBundle: tls.bundle,
    isGoodToken: tls.isGoodToken,
  });
  tls.onBundle(webhooks.onBundle);
  const generators: Generators = createGenerators({
    ...common,
    kinds,
    expose: exposeOptionsOf(env, ownNamespace),
    dns: dnsOptionsOf(env),
    selectsWithoutConsent: env.SDEWAN_SELECT_PODS_WITHOUT_CONSENT,
    sources: coordinator.sources,
    policyMetrics: createPolicyMetrics(registry),
    portMetrics: createPortMetrics(registry),
    registries: registriesOf(env),
    rollOuts: createRollOutMetrics(registry, {
      leads: () => election.term() !== undefined,
      clock: systemClock,
    }),
    neutron: neutronOf(env, registry),
    record: coordinator.record,
  });

  const { sources, notReady } = coordinator;
  const refusedPods = createRefusedPodsController({
    ...common,
    isReady: () => notReady().length === 0,
  });
  const silentAfterMs = env.SDEWAN_SILENT_AFTER_MS;
  const dashboard = await serveDashboard(
    { ...common, sources, notReady, silentAfterMs },
    { url: env.SDEWAN_DASHBOARD_URL, tls: tls.source },
  );

  const { health, intake } = await serve(env, { coordinator, webhooks, tls, registry, log });
  log.info(
    {
      reportPort: intake.port,
      httpPort: health.port,
      ...(dashboard && { dashboardPort: dashboard.port }),
      server,
    },
    'coordinator started',
  );

  await Promise.all([
    coordinator.run(signal),
    webhooks.run(signal),
    generators.run(signal),
    refusedPods.run(signal),
    dashboard?.run(signal),
    tls.run(signal),
    electing,
  ]);
  await systemClock.sleep(env.SDEWAN_DRAIN_MS);
  await Promise.all([intake.close(), health.close(), dashboard?.close()]);
  await Promise.all([client.close(), tracing.close()]);
  log.info('coordinator stopped');
};

/** To the API server; `common`: what all parts have of it. */
const connect = async (env: CoordinatorEnv, log: Logger) => {
  const config = await loadKubeConfig(configSourceOf(env));
  const registry = createMetricsRegistry();
  const apiServer = createApiServerSeen(systemClock);
  const counted = createClientCounter(registry, apiServer.answered);
  const client = counted(createKubeClient({ config, userAgent: 'sdewan-coordinator' }));
  const ownNamespace = env.POD_NAMESPACE ?? config.namespace ?? 'sdewan-system';
  const missingReports = new MissingReports({ silentAfterMs: env.SDEWAN_SILENT_AFTER_MS });
  const election = createElection({
    lease: createLease({
      client,
      key: { namespace: ownNamespace, name: env.SDEWAN_LEASE },
      identity: env.POD_NAME ?? randomUUID(),
      durationMs: LEASE_MS,
      handover: missingReports,
      clock: systemClock,
    }),
    clock: systemClock,
    log,
  });
  const metrics = createMetrics(registry);
  const common = {
    client: leadersClient(client, election),
    leadership: election,
    namespace: env.SDEWAN_WATCH_NAMESPACE,
    registry,
    metrics,
    clock: systemClock,
    log,
  };
  return {
    apiServer,
    client,
    common,
    missing: missingReports,
    ownNamespace,
    server: config.server,
  };
};

/** Off unless a cloud is named. */
const neutronOf = (env: CoordinatorEnv, registry: Registry): GeneratorsOptions['neutron'] => {
  const cloud = cloudFileOf(env);
  if (cloud === undefined) return undefined;
  const { called, exposeFailing } = createNeutronMetrics(registry);
  const neutron = createNeutron({ cloud, clock: systemClock, count: called });
  const { SDEWAN_CLUSTER_ID: clusterId, SDEWAN_NEUTRON_RESYNC_MS: resyncMs } = env;
  return { neutron, clusterId, resyncMs, exposeFailing };
};

type Served = {
  coordinator: Coordinator;
  webhooks: Webhooks;
  tls: Tls;
  registry: Registry;
  log: Logger;
};

/** Probes and metrics on one port; on the other reports, and webhooks. */
const serve = async (
  env: CoordinatorEnv,
  { coordinator, webhooks, tls, registry, log }: Served,
): Promise<{ health: RunningServer; intake: RunningServer }> => {
  const health = await serveApp({
    fetch: createHealth({ notReady: coordinator.notReady, registry }).fetch,
    hostname: env.SDEWAN_HTTP_HOST,
    port: env.SDEWAN_HTTP_PORT,
    log,
  });
  const clientCaFile = env.SDEWAN_WEBHOOK_CLIENT_CA_FILE;
  const intake = await serveApp({
    fetch: (request, connection) => {
      if (!new URL(request.url).pathname.startsWith(ADMISSION_PATH))
        return coordinator.fetch(request, connection);
      if (clientCaFile === undefined || isKnownClient(connection))
        return webhooks.fetch(request, connection);
      // As for a path that is none, and nothing of the body is read.
      return new Response('no such webhook\n', { status: 404, headers: { connection: 'close' } });
    },
    hostname: env.SDEWAN_REPORT_HOST,
    port: env.SDEWAN_REPORT_PORT,
    tls: tls.source,
    clientCaFile,
    log,
  });
  return { health, intake };
};

const DEFAULT_PORTS = { http: 80, https: 443 };

/** Loaded only where it is wanted, which an address says. */
const serveDashboard = async (
  options: Omit<DashboardOptions, 'isSecure'>,
  { url: address, tls }: { url: string | undefined; tls: ServeOptions['tls'] },
): Promise<(Dashboard & RunningServer) | undefined> => {
  if (address === undefined) return undefined;
  const url = new URL(address);
  const { createDashboard } = await import('./dashboard/dashboard.ts');
  const isSecure = url.protocol === 'https:';
  const dashboard = createDashboard({ ...options, isSecure });
  const server = await serveApp({
    fetch: dashboard.fetch,
    hostname: hostIn(url),
    port: Number(url.port || DEFAULT_PORTS[isSecure ? 'https' : 'http']),
    log: options.log,
    ...(isSecure && tls && { tls }),
  });
  return { ...dashboard, ...server };
};

await runProgram({ name: 'sdewan-coordinator', main, graceMs: GRACE_MS });
