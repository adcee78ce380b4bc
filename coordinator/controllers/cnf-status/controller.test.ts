import { expect, it, vi } from 'vitest';
import type { KubeClient } from '#shared/kube/client.ts';
import { KubeError } from '#shared/kube/errors.ts';
import { ALWAYS_LEADING, NO_METRICS } from '#shared/kube/testing/controller.ts';
import { systemClock } from '#shared/runtime/clock.ts';
import { silentLogger } from '#shared/runtime/log.ts';
import { inFakeTime } from '../../testing/fake-time.ts';
import { createCnfStatusController } from './controller.ts';
import type { CnfStatusObject } from '#shared/resources/other-kinds/cnf-status.ts';
import type { ReportedPod } from './status.ts';
import { knownPod } from './testing.ts';

const MINUTE_MS = 60_000;
const pod = knownPod('cnf-1-a');

const { run } = inFakeTime();

/** With an API server that has none, and answers so. */
const start = (
  answers: object,
  pods: () => readonly ReportedPod[] = () => [pod],
): ReturnType<typeof createCnfStatusController> => {
  const list = async () => ({ items: [], resourceVersion: '1' });
  const controller = createCnfStatusController({
    client: { list, ...answers } as never as KubeClient,
    pods: () => pods,
    classicNamespace: undefined,
    namespace: undefined,
    metrics: NO_METRICS,
    leadership: ALWAYS_LEADING,
    clock: systemClock,
    log: silentLogger,
  });
  run(controller);
  return controller;
};

it('tries at growing intervals to write an object that others keep changing', async () => {
  let tries = 0;
  const error = (status: number): KubeError => new KubeError('x', 'x', { status, reason: 'x' });
  const controller = start({
    get: async () => Promise.reject(error(404)),
    create: async () => {
      tries += 1;
      throw error(409);
    },
  });
  controller.mark(pod, false);
  await vi.advanceTimersByTimeAsync(10 * MINUTE_MS);
  const before = tries;
  expect(before).toBeGreaterThan(5);
  await vi.advanceTimersByTimeAsync(10 * MINUTE_MS);
  // Between 3 and 30 seconds lie between two.
  expect(tries - before).toBeGreaterThanOrEqual(20);
  expect(tries - before).toBeLessThanOrEqual(200);
});

it('writes a problem of a pod at once, and limits how often information about OpenWRT is written', async () => {
  let pods: readonly ReportedPod[] = [pod];
  let object: CnfStatusObject | undefined;
  const written: (string | undefined)[] = [];
  const answers = {
    get: async () =>
      object ?? Promise.reject(new KubeError('x', 'x', { status: 404, reason: 'x' })),
    create: async (_resource: unknown, body: CnfStatusObject) =>
      (object = { ...body, metadata: { ...body.metadata, uid: 'u', resourceVersion: '1' } }),
    replace: async (_resource: unknown, body: CnfStatusObject) => {
      written.push(body.status?.message);
      return (object = body);
    },
  };
  const controller = start(answers, () => pods);
  controller.mark(pod, true);
  await vi.advanceTimersByTimeAsync(600);
  expect(written).toEqual([undefined]);
  pods = [{ ...pod, problem: 'empty' }];
  controller.mark(pod, true);
  await vi.advanceTimersByTimeAsync(600);
  expect(written).toEqual([undefined, 'empty (pod cnf-1-a)']);
  pods = [{ ...pod, ready: false, problem: 'empty' }];
  controller.mark(pod, false);
  await vi.advanceTimersByTimeAsync(3_000);
  expect(written).toHaveLength(2);
  await vi.advanceTimersByTimeAsync(3_000);
  expect(written).toHaveLength(3);
});
