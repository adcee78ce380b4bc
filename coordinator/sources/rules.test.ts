import { PassThrough } from 'node:stream';
import { afterEach, beforeEach, expect, it } from 'vitest';
import type { KubeClient } from '#shared/kube/client.ts';
import {
  objectSchema,
  type ObjectMeta,
  type ResourceType,
  type RuleObject,
} from '#shared/kube/objects.ts';
import { systemClock } from '#shared/runtime/clock.ts';
import { silentLogger } from '#shared/runtime/log.ts';
import { ruleObject, ruleResource } from '../testing/rule-object.ts';
import { Rules, type RulesOptions } from './rules.ts';

const versionOf = (
  resourceVersion: string,
  src: string,
  metadata: Partial<ObjectMeta> = {},
): RuleObject => ({ ...ruleObject({ resourceVersion, ...metadata }), spec: { src } });

let stop: AbortController;
beforeEach(() => {
  stop = new AbortController();
});
afterEach(() => stop.abort());

/** Watches as the API server would let it: `after` gives an event, and waits until it is in. */
const watching = async (
  indexKeysOf?: RulesOptions['indexKeysOf'],
  options: Partial<RulesOptions> = {},
) => {
  const watch = new PassThrough();
  let received = Promise.withResolvers<void>();
  const client = {
    list: async ({ schema }: ResourceType) => ({
      items: [schema.parse(versionOf('1', 'lan1'))],
      resourceVersion: '1',
    }),
    watch: async () => watch,
  } as unknown as KubeClient;
  const rules = new Rules({
    client,
    namespace: undefined,
    kinds: [{ ...ruleResource, schema: objectSchema.loose() }],
    revisionOf: () => 'r1',
    ...options,
    ...(indexKeysOf && { indexKeysOf }),
    clock: systemClock,
    log: silentLogger,
    onChange: () => received.resolve(),
  });
  const listed = received.promise;
  void rules.run(stop.signal);
  await listed;
  const after = async (type: string, object: RuleObject): Promise<void> => {
    received = Promise.withResolvers();
    watch.write(`${JSON.stringify({ type, object })}\n`);
    await received.promise;
  };
  return { rules, after };
};

it('rules are found by the index keys that they have now', async () => {
  let asked = 0;
  const { rules, after } = await watching((_, filter) => {
    asked += 1;
    return [(filter as { src: string }).src];
  });
  const found = (): number[] =>
    ['lan1', 'wan'].map((indexKey) => rules.tied([indexKey, indexKey]).length);

  expect(found()).toEqual([1, 0]);

  await after('MODIFIED', { ...versionOf('2', 'lan1'), status: { state: 'In Sync' } });
  expect({ found: found(), asked }).toEqual({ found: [1, 0], asked: 1 });
  await after('MODIFIED', versionOf('3', 'wan', { generation: 2 }));
  expect(found()).toEqual([0, 1]);
  expect([...rules.uidsOfPurpose('edge', 'cnf-1')]).toEqual(['rule-1']);
  await after('MODIFIED', versionOf('4', 'wan', { generation: 2, labels: {} }));
  expect([...rules.uidsOfPurpose('edge', 'cnf-1')]).toEqual([]);
  await after('DELETED', versionOf('5', 'wan', { generation: 2 }));
  expect(found()).toEqual([0, 0]);
});

it('counts an answer about a rule until the watch shows a later version, whichever arrives first', async () => {
  const { rules, after } = await watching();
  const known = (): string | undefined => rules.get('rule-1')?.object.metadata.resourceVersion;
  rules.learn(versionOf('9', 'lan1'));
  expect(known()).toBe('9');
  await after('MODIFIED', versionOf('9', 'lan1'));
  // Another client deletes it after our write, and the watch is faster than the answer to that.
  await after('MODIFIED', versionOf('11', 'lan1', { deletionTimestamp: '2026-11-22T12:00:00Z' }));
  rules.learn(versionOf('10', 'lan1'));
  expect(known()).toBe('11');
  expect(rules.get('rule-1')?.rule.deletedAt).toBeDefined();
});

it('keeps of a rule that is not read what does not grow with it, and revision and index keys of all of it', async () => {
  const { rules, after } = await watching(({ spec }) => [(spec as { src: string }).src], {
    isRead: () => false,
    revisionOf: ({ spec }) => JSON.stringify(spec).slice(0, 12),
  });
  const large = 'x'.repeat(10_000);
  await after(
    'MODIFIED',
    versionOf('2', `lan1${large}`, {
      generation: 2,
      labels: { sdewanPurpose: 'cnf-1', large },
      annotations: { 'sdewan.akraino.org/order': large },
      ownerReferences: [{ apiVersion: 'v1', kind: 'ConfigMap', name: large, uid: large }],
    }),
  );
  const kept = rules.get('rule-1');
  expect(kept?.rule).toMatchObject({ revision: '{"src":"lan1', purpose: 'cnf-1' });
  expect(rules.tied([`lan1${large}`])).toEqual([kept?.object]);
  expect(JSON.stringify({ ...kept?.object, indexKeys: [] }).length).toBeLessThan(1_000);
  const answer = versionOf('3', `lan1${large}`, { generation: 2 });
  expect(JSON.stringify(rules.learn(answer)?.rule)).not.toContain(large);
  expect(rules.get('rule-1')?.object.spec).toBeUndefined();
});

it('computes nothing anew for a version that differs in its status only, whatever its size', async () => {
  let computed = 0;
  const { rules, after } = await watching(undefined, {
    revisionOf: ({ spec, metadata }) => {
      computed += 1;
      return JSON.stringify([spec, metadata.annotations]);
    },
  });
  const annotated = (order: string): Partial<ObjectMeta> => ({
    annotations: { 'sdewan.akraino.org/order': order },
  });
  const revision = (): string | undefined => rules.get('rule-1')?.rule.revision;
  const first = revision();
  await after('MODIFIED', { ...versionOf('2', 'lan1'), status: { state: 'In Sync' } });
  expect([revision(), computed]).toEqual([first, 1]);
  await after('MODIFIED', versionOf('3', 'lan1', annotated('7')));
  expect([revision(), computed]).toEqual(['[{"src":"lan1"},{"sdewan.akraino.org/order":"7"}]', 2]);
  await after('MODIFIED', versionOf('4', 'lan1', annotated('x'.repeat(10_000))));
  await after('MODIFIED', versionOf('5', 'lan1', annotated('y'.repeat(10_000))));
  expect([revision()?.slice(-4, -3), computed]).toEqual(['y', 4]);
});
