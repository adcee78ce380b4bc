/** Traces that a coordinator sends to a collector, and what it asks agents for them. */
import { afterAll, beforeAll, expect, it } from 'vitest';
import type { RuleObject } from '#shared/kube/objects.ts';
import { startCollector, type Collector } from '../../stack/collector.ts';
import { createAgent, type SimulatedAgent } from './agent.ts';
import { eventually } from '../support/eventually.ts';
import { createRunningPod } from './pods.ts';
import { createRule, readRule, type NewRule } from './rules.ts';
import { createFixture, type Fixture } from './fixture.ts';

let collector: Collector;
let fixture: Fixture;
let agent: SimulatedAgent;
beforeAll(async () => {
  collector = await startCollector();
  fixture = await createFixture({
    env: { OTEL_EXPORTER_OTLP_ENDPOINT: collector.url, OTEL_BSP_SCHEDULE_DELAY: '100' },
  });
  agent = await createAgent(fixture, await createRunningPod(fixture, { name: 'cnf-1-a' }));
});
afterAll(async () => {
  await agent.close();
  await fixture.close();
  await collector.close();
});

/** As an agent reports a rule that OpenWRT has had for 10 ms. */
const applied = (rule: RuleObject, uid = rule.metadata.uid) => {
  const now = Date.now();
  const at = { seenAt: now - 50, begunAt: now - 40, compiledAt: now - 30, appliedAt: now - 10 };
  return { uid, generation: rule.metadata.generation ?? 0, ...at };
};

/**
 * Resolves when the coordinator has seen the rule: it forgets times of rules that it does not know.
 */
const createSeenRule = async (rule: NewRule): Promise<RuleObject> => {
  const created = await createRule(fixture, rule);
  await eventually(() => readRule(fixture, rule.name)).toHaveProperty('status');
  return created;
};

it('have all spans of a change under one root, whichever program made them', async () => {
  const spec = { src: 'lan1', target: 'REJECT', name: 'not for a trace' };
  const rule = await createSeenRule({ name: 'traced', spec });
  await eventually(() => agent.says()).toMatchObject({ body: { wantsTimes: true } });
  await agent.timed([applied(rule)], [rule, 'Applied']);
  await eventually(() => collector.spans().map(({ name }) => name)).toContain(
    'FirewallRule changed',
  );
  const spans = collector.spans();
  const root = spans.find(({ parent }) => !parent);
  expect(root).toMatchObject({
    service: 'sdewan-coordinator',
    name: 'FirewallRule changed',
    attributes: {
      'k8s.namespace.name': fixture.namespace,
      'sdewan.rule.kind': 'FirewallRule',
      'sdewan.rule.name': 'traced',
      'sdewan.rule.generation': 1,
      'sdewan.purpose': 'cnf-1',
    },
  });
  expect(spans.map(({ service, name }) => `${service}: ${name}`).sort()).toEqual([
    'sdewan-agent: applied',
    'sdewan-agent: compiled',
    'sdewan-agent: reported',
    'sdewan-agent: seen',
    'sdewan-coordinator: FirewallRule changed',
    'sdewan-coordinator: status',
  ]);
  for (const span of spans)
    expect(span).toMatchObject({
      traceId: root?.traceId,
      parent: span === root ? undefined : root?.id,
    });
  expect(spans.find(({ name }) => name === 'applied')?.attributes).toMatchObject({
    'k8s.pod.name': 'cnf-1-a',
  });
  expect(collector.received()).not.toContain(spec.name);
});

it('have nothing that an agent says of rules which are not those of its CNF', async () => {
  const before = collector.spans().length;
  const others = await createSeenRule({ name: 'others', purpose: 'cnf-2' });
  const own = await createSeenRule({ name: 'own' });
  await agent.timed([applied(others), applied(own, 'unknown'), applied(own)], [own, 'Applied']);
  await eventually(() => collector.spans().length).toBeGreaterThanOrEqual(before + 6);
  const names = collector.spans().map(({ attributes }) => attributes['sdewan.rule.name']);
  expect(new Set(names)).toEqual(new Set(['traced', 'own']));
});

it('are sent before the coordinator ends, and agents are not asked for times where there is no collector', async () => {
  const last = await createSeenRule({ name: 'last' });
  await fixture.coordinator.stop('SIGTERM');
  await fixture.startCoordinator({ OTEL_BSP_SCHEDULE_DELAY: '3600000' });
  await eventually(() => agent.says()).toMatchObject({ body: { wantsTimes: true } });
  await agent.timed([applied(last)], [last, 'Applied']);
  await fixture.coordinator.stop('SIGTERM');
  const names = collector.spans().map(({ attributes }) => attributes['sdewan.rule.name']);
  expect(names).toContain('last');
  await fixture.startCoordinator({ OTEL_EXPORTER_OTLP_ENDPOINT: '' });
  await eventually(() => agent.says()).toMatchObject({ status: 200 });
  expect((await agent.beats()).body).not.toHaveProperty('wantsTimes');
});
