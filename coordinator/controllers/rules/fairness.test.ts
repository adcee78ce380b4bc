import { ALWAYS_LEADING } from '#shared/kube/testing/controller.ts';
import { expect, it } from 'vitest';
import type { KubeClient } from '#shared/kube/client.ts';
import type { RuleObject } from '#shared/kube/objects.ts';
import { systemClock } from '#shared/runtime/clock.ts';
import { silentLogger } from '#shared/runtime/log.ts';
import { Registry } from '#shared/metrics/prometheus.ts';
import { createMetrics } from '../../metrics.ts';
import { Reports } from '../../reports/reports.ts';
import { ruleObject, ruleResource } from '../../testing/rule-object.ts';
import { ruleOf } from '../../sources/rule.ts';
import { MissingReports } from './missing-reports.ts';
import { RuleFacts } from './facts.ts';
import { RulesController } from './controller.ts';

const MANY = 5_000;
/** Longer than what comes together: timers that are due earlier have fired before. */
const READY_BY_THEN_MS = 150;
/** Writes in flight, and one more turn. */
const A_FEW = 18;

/** How many writes there are before that of one rule, which is the last of many to be marked. */
const writesBefore = async (one: RuleObject): Promise<number> => {
  const objects = new Map<string, RuleObject>();
  for (let index = 0; index < MANY; index += 1)
    objects.set(`many-${index}`, ruleObject({ namespace: 'many', uid: `many-${index}` }));

  const written: string[] = [];
  const stop = new AbortController();
  const allAreReady = Promise.withResolvers<void>();
  const write = async ({ metadata: { uid } }: RuleObject): Promise<void> => {
    written.push(uid);
    await allAreReady.promise;
    if (uid === one.metadata.uid) stop.abort();
  };
  const client = {
    replace: async (_resource: unknown, body: RuleObject) => {
      await write(body);
      return body;
    },
    patch: (_resource: unknown, _key: unknown, { patch }: { patch: { body: RuleObject } }) =>
      write(patch.body),
  } as unknown as KubeClient;
  const reports = new Reports({ silentAfterMs: 60_000 });
  const facts = new RuleFacts({
    pods: { ofPurpose: () => [], ofNamespace: () => [], look: async () => [] },
    reports,
    missingReports: new MissingReports({ silentAfterMs: 60_000 }),
    silentAfterMs: 60_000,
    clock: systemClock,
  });
  const controller = new RulesController({
    onInSync: () => undefined,
    client,
    rules: {
      get: (uid) => {
        const object = objects.get(uid);
        return object && { resource: ruleResource, object, rule: ruleOf(object, 'r1') };
      },
      learn: () => undefined,
      uids: () => objects.keys(),
      uidsOfPurpose: () => new Set(),
    },
    reports,
    facts: () => facts,
    record: () => undefined,
    metrics: createMetrics(new Registry()),
    leadership: ALWAYS_LEADING,
    clock: systemClock,
    log: silentLogger,
  });
  controller.markAll();
  systemClock.after(READY_BY_THEN_MS, () => {
    objects.set(one.metadata.uid, one);
    controller.markRule(one.metadata.uid);
    systemClock.after(READY_BY_THEN_MS, allAreReady.resolve);
  });
  await controller.run(stop.signal);
  return written.indexOf(one.metadata.uid);
};

it('writes the status of a rule after a few writes of another namespace, however many are queued there', async () => {
  expect(await writesBefore(ruleObject({ namespace: 'one', uid: 'one' }))).toBeLessThan(A_FEW);
});

it('writes the finalizer of a rule after a few statuses of its own namespace', async () => {
  const created = ruleObject({ namespace: 'many', uid: 'one', finalizers: [] });
  expect(await writesBefore(created)).toBeLessThan(A_FEW);
});
