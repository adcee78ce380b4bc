import { expect, it } from 'vitest';
import { Registry } from '#shared/metrics/prometheus.ts';
import { createHealth } from './health.ts';

it.each([
  ['/healthz', 200],
  ['/readyz', 503],
  ['/metrics', 200],
  ['/none', 404],
])('ends the connection of an answer to %s', async (path, status) => {
  const health = createHealth({ notReady: () => ['no pods yet'], registry: new Registry() });
  const answer = await health.request(path);
  expect([answer.status, answer.headers.get('connection')]).toEqual([status, 'close']);
});
