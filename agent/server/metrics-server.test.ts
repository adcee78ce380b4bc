import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { Counter, Registry } from '#shared/metrics/prometheus.ts';
import type { RunningHttp } from './serve.ts';
import { serveHttp } from './metrics-server.ts';

let http: RunningHttp;
const failing = new Map<string, string>();

beforeEach(async () => {
  failing.clear();
  const metrics = new Registry();
  new Counter({ name: 'passes', help: 'Passes.', registers: [metrics] }).inc(3);
  http = await serveHttp({ hostname: '127.0.0.1', port: 0, notReady: () => failing, metrics });
});
afterEach(() => http.close());

const get = async (path: string, method = 'GET') => {
  const response = await fetch(`http://127.0.0.1:${http.port}${path}`, { method });
  return { status: response.status, text: await response.text() };
};

describe('what the agent serves', () => {
  it('is alive as long as it answers', async () => {
    expect(await get('/healthz')).toEqual({ status: 200, text: 'ok\n' });
  });

  it('names the part that keeps it from being ready', async () => {
    expect((await get('/readyz')).status).toBe(200);
    failing.set('openwrt', 'connection refused');
    expect(await get('/readyz')).toEqual({ status: 503, text: 'openwrt: connection refused\n' });
  });

  it('shows its figures', async () => {
    expect((await get('/metrics')).text).toContain('passes 3');
  });

  it.each([
    ['/', 'GET', 404],
    ['/metrics', 'POST', 405],
  ])('answers %s by %s with %i', async (path, method, status) => {
    expect((await get(path, method)).status).toBe(status);
  });
});
