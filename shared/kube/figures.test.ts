import { expect, it } from 'vitest';
import { Registry } from '../metrics/prometheus.ts';
import { silentLogger } from '../runtime/log.ts';
import type { KubeClient } from './client.ts';
import { KubeError } from './errors.ts';
import { createClientCounter } from './figures.ts';
import { objectSchema, type ResourceType } from './objects.ts';
import { Reflector } from './informer/reflector.ts';

const pods: ResourceType = {
  group: '',
  version: 'v1',
  plural: 'pods',
  kind: 'Pod',
  schema: objectSchema,
};

const figures = async (registry: Registry): Promise<string[]> =>
  (await registry.metrics()).split('\n').filter((line) => line !== '' && !line.startsWith('#'));

it('requests that fail are counted by verb and status, and a watch that fails as long as it does', async () => {
  let status = 403;
  let answers = 0;
  const refuse = (): Promise<never> =>
    Promise.reject(new KubeError('list pods', 'no', { status, reason: 'No' }));
  const bare: Partial<KubeClient> = { get: refuse, list: refuse };
  const registry = new Registry();
  // oxlint-disable-next-line typescript/no-unsafe-type-assertion -- nothing else is called
  const client = createClientCounter(registry, () => (answers += 1))(bare as KubeClient);
  const reflector = new Reflector({
    client,
    resource: pods,
    log: silentLogger,
    timings: { baseBackoffMs: 1, maxBackoffMs: 1 },
  });
  const stop = new AbortController();
  const running = reflector.run(stop.signal);
  await expect
    .poll(() => figures(registry))
    .toContain('sdewan_kube_watches_failing{resource="pods"} 1');
  status = 404;
  await expect
    .poll(() => figures(registry))
    .toContain('sdewan_kube_watches_failing{resource="pods"} 0');
  stop.abort();
  await running;
  const before = answers;
  await expect(client.get(pods, { namespace: 'a', name: 'b' })).rejects.toThrow(KubeError);
  // A refusal is an answer.
  expect(answers).toBe(before + 1);
  status = 0;
  await expect(client.get(pods, { namespace: 'a', name: 'b' })).rejects.toThrow(KubeError);
  expect(answers).toBe(before + 1);
  const lines = await figures(registry);
  expect(lines).toContain('sdewan_kube_errors_total{verb="get",status="404"} 1');
  expect(lines.join()).toContain('sdewan_kube_errors_total{verb="list",status="403"}');
  expect(lines).toContain('sdewan_kube_watches_failing{resource="pods"} 0');
});
