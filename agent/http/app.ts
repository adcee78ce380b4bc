/** What people and Prometheus may ask the agent. The kubelet's probes do not come here: rules can drop its packets. */
import { Hono } from 'hono';
import type { Registry } from 'prom-client';

export type AppDeps = {
  /** Parts that keep the agent from being ready, each with its reason; none when it is ready. */
  notReady: () => ReadonlyMap<string, string>;
  metrics: Registry;
};

export const createApp = ({ notReady, metrics }: AppDeps): Hono => {
  const app = new Hono();
  app.get('/healthz', (context) => context.text('ok\n'));
  app.get('/readyz', (context) => {
    const failing = [...notReady()].map(([part, reason]) => `${part}: ${reason}\n`);
    return failing.length === 0 ? context.text('ok\n') : context.text(failing.join(''), 503);
  });
  app.get('/metrics', async (context) => {
    const text = await metrics.metrics();
    return context.text(text, 200, { 'content-type': metrics.contentType });
  });
  return app;
};
