import { expect, it } from 'vitest';
import type { KubeClient } from '#shared/kube/client.ts';
import { ALWAYS_LEADING } from '#shared/kube/testing/controller.ts';
import { systemClock } from '#shared/runtime/clock.ts';
import { silentLogger } from '#shared/runtime/log.ts';
import { Registry } from '#shared/metrics/prometheus.ts';
import { createCoordinator } from './coordinator.ts';
import { createMetrics } from './metrics.ts';
import { MissingReports } from './controllers/rules/missing-reports.ts';
import { withoutTracing } from './tracing/tracing.ts';

/** With no kinds to watch; nothing runs. */
const notReadyAfter = (unansweredForMs: number | undefined): readonly string[] => {
  const registry = new Registry();
  const coordinator = createCoordinator({
    client: { unansweredForMs: () => unansweredForMs } as unknown as KubeClient,
    kinds: [],
    revisionOf: () => '',
    indexKeysOf: () => [],
    isRead: () => false,
    namespace: undefined,
    silentAfterMs: 45_000,
    wasApiServerAway: () => false,
    instance: 'test',
    classicStatusNamespace: undefined,
    onPod: () => undefined,
    onReport: () => undefined,
    onCounters: () => undefined,
    onRule: () => undefined,
    registry,
    metrics: createMetrics(registry),
    leadership: ALWAYS_LEADING,
    missingReports: new MissingReports({ silentAfterMs: 45_000 }),
    tracing: withoutTracing,
    clock: systemClock,
    log: silentLogger,
  });
  return coordinator.notReady().filter((reason) => reason.includes('the API server'));
};

it('is not ready when the API server has answered no call for 30 s', () => {
  expect([undefined, 29_999].flatMap(notReadyAfter)).toEqual([]);
  expect(notReadyAfter(30_000)).toEqual(['the API server has answered no call for 30 s']);
});
