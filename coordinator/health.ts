/** `/healthz`, `/readyz` and `/metrics`, on a port of their own. `/readyz` names what lacks. */
import { Hono } from 'hono';
import type { Registry } from '#shared/metrics/prometheus.ts';

export type HealthDeps = {
  /** What keeps the coordinator from being ready, one sentence each; empty when it is ready. */
  notReady: () => readonly string[];
  registry: Registry;
};

export const createHealth = ({ notReady, registry }: HealthDeps): Hono => {
  const app = new Hono();
  // A client takes no room from the next one: without a login any number of connections could be
  // kept.
  app.use(async (context, next) => {
    await next();
    context.header('Connection', 'close');
  });
  app.get('/healthz', (context) => context.text('ok\n'));
  app.get('/readyz', (context) => {
    const reasons = notReady();
    return reasons.length === 0
      ? context.text('ok\n')
      : context.text(`${reasons.join('\n')}\n`, 503);
  });
  app.get('/metrics', async (context) => {
    context.header('Content-Type', registry.contentType);
    return context.body(await registry.metrics());
  });
  return app;
};
