/** A server of a test, on a free port of loopback. */
import type { Hono } from 'hono';
import { serveApp, type RunningServer } from '#shared/http/server.ts';
import { silentLogger } from '#shared/runtime/log.ts';

export const listening = async (app: Hono): Promise<{ url: string } & RunningServer> => {
  const server = await serveApp({
    fetch: app.fetch,
    hostname: '127.0.0.1',
    port: 0,
    log: silentLogger,
  });
  return { url: `http://127.0.0.1:${server.port}`, ...server };
};
