import { expect, it } from 'vitest';
import type { KubeClient } from '#shared/kube/client.ts';
import type { RuleObject } from '#shared/kube/objects.ts';
import { systemClock } from '#shared/runtime/clock.ts';
import { silentLogger } from '#shared/runtime/log.ts';
import { Registry } from '#shared/runtime/prometheus.ts';
import { createMetrics } from '../metrics.ts';
import { Reports } from '../reports/reports.ts';
import { ruleObject, ruleResource } from '../testing/rule-object.ts';
import { ruleOf } from '../verdict/rule.ts';
import { Awaited } from './awaited.ts';
import { RuleFacts } from './facts.ts';
import { RulesController } from './rules-controller.ts';

const MANY = 5_000;
/** Longer than what comes together: timers that are due earlier have fired before. */
const MARKED_BY_THEN_MS = 300;
/** Writes in flight, and one more turn. */
const A_FEW = 18;

it('the status of a rule waits for a few writes of another namespace, whatever that has queued', async () => {
  const objects = new Map<string, RuleObject>();
  for (let index = 0; index < MANY; index += 1)
    objects.set(`many-${index}`, ruleObject({ namespace: 'many', uid: `many-${index}` }));
  objects.set('one', ruleObject({ namespace: 'one', uid: 'one' }));

  const written: string[] = [];
  const stop = new AbortController();
  const allAreReady = systemClock.sleep(MARKED_BY_THEN_MS);
  const client = {
    replace: async (_resource: unknown, body: RuleObject) => {
      written.push(body.metadata.namespace);
      await allAreReady;
      if (body.metadata.namespace === 'one') stop.abort();
      return body;
    },
  } as unknown as KubeClient;
  const reports = new Reports({ silentAfterMs: 60_000 });
  const facts = new RuleFacts({
    pods: { ofPurpose: () => [], ofNamespace: () => [], look: async () => [] },
    reports,
    awaited: new Awaited(),
    silentAfterMs: 60_000,
    clock: systemClock,
  });
  const controller = new RulesController({
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
    clock: systemClock,
    log: silentLogger,
  });
  controller.markAll();
  await controller.run(stop.signal);
  expect(written.indexOf('one')).toBeLessThan(A_FEW);
});
