import { PassThrough } from 'node:stream';
import { afterEach, expect, it } from 'vitest';
import type { KubeClient } from '#shared/kube/client.ts';
import { objectSchema, type ObjectMeta, type RuleObject } from '#shared/kube/objects.ts';
import { systemClock } from '#shared/runtime/clock.ts';
import { silentLogger } from '#shared/runtime/log.ts';
import { ruleObject, ruleResource } from '../testing/rule-object.ts';
import { Rules } from './rules.ts';

const versionOf = (
  resourceVersion: string,
  src: string,
  metadata: Partial<ObjectMeta> = {},
): RuleObject => ({ ...ruleObject({ resourceVersion, ...metadata }), spec: { src } });

const stop = new AbortController();
afterEach(() => stop.abort());

it('rules are found by the ties that they have now', async () => {
  const watch = new PassThrough();
  let heard = Promise.withResolvers<void>();
  let asked = 0;
  const client = {
    list: async () => ({ items: [versionOf('1', 'lan1')], resourceVersion: '1' }),
    watch: async () => watch,
  } as unknown as KubeClient;
  const rules = new Rules({
    client,
    namespace: undefined,
    kinds: [{ ...ruleResource, schema: objectSchema.loose() }],
    revisionOf: () => 'r1',
    tiesOf: ({ spec }) => {
      asked += 1;
      return [(spec as { src: string }).src];
    },
    clock: systemClock,
    log: silentLogger,
    onChange: () => heard.resolve(),
  });
  const after = async (type: string, object: RuleObject): Promise<void> => {
    heard = Promise.withResolvers();
    watch.write(`${JSON.stringify({ type, object })}\n`);
    await heard.promise;
  };
  const found = (): number[] => ['lan1', 'wan'].map((tie) => rules.tied([tie, tie]).length);

  const listed = heard.promise;
  void rules.run(stop.signal);
  await listed;
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
