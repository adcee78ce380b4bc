/** The controller with a fake client: which requests it repeats, and how often. */
import { expect, it, vi } from 'vitest';
import { ruleOf } from '#shared/compile/testing.ts';
import { cnfService } from '#shared/resources/rules/cnf-service.ts';
import type { ResourceType } from '#shared/kube/objects.ts';
import type { KubeClient } from '#shared/kube/client.ts';
import { KubeError } from '#shared/kube/errors.ts';
import { ALWAYS_LEADING, NO_METRICS } from '#shared/kube/testing/controller.ts';
import { systemClock } from '#shared/runtime/clock.ts';
import { silentLogger } from '#shared/runtime/log.ts';
import { inFakeTime } from '../testing/fake-time.ts';
import { createChildrenController } from './children-controller.ts';

const HOUR_MS = 3_600_000;
const parent = ruleOf('CNFService', 'api', { fullname: 'api.test', port: '80', dport: '80' });
const theirs = ruleOf('CNFNAT', 'apinat', { target: 'MASQUERADE' });

const { run } = inFakeTime();

it('checks at growing intervals whether a name that somebody else has is free', async () => {
  const creations: number[] = [];
  const events: string[] = [];
  const client = {
    list: async ({ schema }: ResourceType) => ({
      items: [schema.parse(parent)],
      resourceVersion: '1',
    }),
    watch: (_resource: unknown, { signal }: { signal: AbortSignal }) =>
      new Promise((_resolve, reject) => {
        signal.addEventListener('abort', () => reject(new Error('aborted')));
      }),
    create: async () => {
      creations.push(Date.now());
      throw new KubeError('create', 'exists', { status: 409, reason: 'AlreadyExists' });
    },
    get: async () => theirs,
    replace: async (_resource: unknown, { status }: { status: object }) => ({ ...parent, status }),
  } as never as KubeClient;
  const controller = createChildrenController({
    client,
    kinds: [cnfService],
    namespace: undefined,
    rules: { get: () => undefined, unknown: new Map() },
    addresses: {
      get: async () => ({
        addresses: ['192.0.2.1'],
        unknown: undefined,
        problem: undefined,
        againInMs: Infinity,
      }),
    },
    record: ({ reason }) => {
      events.push(reason);
    },
    metrics: NO_METRICS,
    leadership: ALWAYS_LEADING,
    clock: systemClock,
    log: silentLogger,
  });
  run(controller);
  await vi.advanceTimersByTimeAsync(HOUR_MS);
  const before = creations.length;
  expect(before).toBeGreaterThan(10);
  await vi.advanceTimersByTimeAsync(HOUR_MS);
  // Between 3 and 30 seconds lie between two.
  expect(creations.length - before).toBeGreaterThanOrEqual(120);
  expect(creations.length - before).toBeLessThanOrEqual(1_200);
  expect(events).toEqual(['NameTaken']);
});
