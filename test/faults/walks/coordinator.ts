/**
 * A coordinator as `coordinator/main.ts` puts it together, without servers, webhooks and
 * generators.
 */
import { revisionOf } from '#shared/compile/revision.ts';
import type { KubeClient } from '#shared/kube/client.ts';
import { createElection, leadersClient, LEASE_MS } from '#shared/kube/leadership.ts';
import { createLease } from '#shared/kube/lease.ts';
import { silentLogger } from '#shared/runtime/log.ts';
import { Registry } from '#shared/metrics/prometheus.ts';
import { createCoordinator } from '../../../coordinator/coordinator.ts';
import { createMetrics } from '../../../coordinator/metrics.ts';
import { MissingReports } from '../../../coordinator/controllers/rules/missing-reports.ts';
import { withoutTracing } from '../../../coordinator/tracing/tracing.ts';
import { KINDS } from './agent.ts';
import { NAMESPACE } from './api-server.ts';
import type { Process } from './process.ts';

export const SILENT_AFTER_MS = 45_000;

export const startCoordinator = (
  process: Process,
  client: KubeClient,
  name: string,
): ((request: Request) => Response | Promise<Response>) => {
  const { clock } = process;
  const { signal } = process.stopping;
  const log = silentLogger;
  const missingReports = new MissingReports({ silentAfterMs: SILENT_AFTER_MS });
  const election = createElection({
    lease: createLease({
      client,
      key: { namespace: NAMESPACE, name: 'sdewan-coordinator' },
      identity: name,
      durationMs: LEASE_MS,
      handover: missingReports,
      clock,
    }),
    clock,
    log,
  });
  const registry = new Registry();
  const coordinator = createCoordinator({
    tracing: withoutTracing,
    client: leadersClient(client, election),
    kinds: KINDS,
    revisionOf,
    indexKeysOf: () => [],
    isRead: () => false,
    namespace: undefined,
    silentAfterMs: SILENT_AFTER_MS,
    wasApiServerAway: () => false,
    missingReports,
    instance: name,
    classicStatusNamespace: undefined,
    onPod: () => undefined,
    onReport: () => undefined,
    onCounters: () => undefined,
    onRule: () => undefined,
    registry,
    metrics: createMetrics(registry),
    leadership: election,
    clock,
    log,
  });
  void election.run(signal);
  void coordinator.run(signal);
  return coordinator.fetch;
};
