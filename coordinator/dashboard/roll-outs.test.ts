import { PassThrough } from 'node:stream';
import { expect, it } from 'vitest';
import { ruleOf } from '#shared/compile/testing.ts';
import type { KubeClient } from '#shared/kube/client.ts';
import type { ResourceType } from '#shared/kube/objects.ts';
import { systemClock } from '#shared/runtime/clock.ts';
import { silentLogger } from '#shared/runtime/log.ts';
import { createRollOuts } from './roll-outs.ts';

it('finds a CNFDeployment by the label of its pods, and keeps no template', async () => {
  const labels = { sdewanPurpose: 'cnf-9' };
  const spec = {
    selector: { matchLabels: labels },
    template: { metadata: { labels }, spec: { containers: [{ env: 'planted-key' }] } },
  };
  const object = {
    ...ruleOf('CNFDeployment', 'edge', spec, { labels: {} }),
    status: { stage: 'Staging' },
  };
  const stop = new AbortController();
  const listed = Promise.withResolvers<string>();
  const rollOuts = createRollOuts({
    client: {
      list: async ({ schema }: ResourceType) => ({
        items: [schema.parse(object)],
        resourceVersion: '1',
      }),
      watch: async () => new PassThrough(),
    } as unknown as KubeClient,
    namespace: undefined,
    clock: systemClock,
    log: silentLogger,
    onChange: listed.resolve,
  });
  void rollOuts.run(stop.signal);
  const uid = await listed.promise;
  expect([...rollOuts.uidsOfPurpose('default', 'cnf-9')]).toEqual([uid]);
  const kept = rollOuts.get(uid)?.object;
  expect(kept?.status).toEqual({ stage: 'Staging' });
  expect(JSON.stringify(kept)).not.toContain('planted-key');
  stop.abort();
});
