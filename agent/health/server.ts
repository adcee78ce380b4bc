/**
 * HTTP for people and Prometheus. The kubelet's probes do not come here: rules can drop its packets.
 * Plain node:http, since hono's adapter loads Node's built-in fetch: 15 MB of memory per agent (measured, Node 26).
 */
import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import { once } from 'node:events';
import type { Registry } from '#shared/runtime/prometheus.ts';

export type HttpDeps = {
  hostname: string;
  /** 0: any free one. */
  port: number;
  /** Parts that keep the agent from being ready, each with its reason; none when it is ready. */
  notReady: () => ReadonlyMap<string, string>;
  metrics: Registry;
};

export type RunningHttp = { port: number; close: () => Promise<void> };

type Answer = { status: number; type: string; text: string };

const PLAIN = 'text/plain; charset=utf-8';
const REQUEST_TIMEOUT_MS = 10_000;

/** Resolves when it listens. @throws when the address is taken */
export const serveHttp = async (deps: HttpDeps): Promise<RunningHttp> => {
  const handle = async (request: IncomingMessage, response: ServerResponse): Promise<void> => {
    const { status, type, text } = await answerTo(request, deps);
    response.writeHead(status, { 'content-type': type });
    response.end(text);
  };
  const server = createServer({ requestTimeout: REQUEST_TIMEOUT_MS }, (request, response) => {
    void handle(request, response);
  });
  server.listen(deps.port, deps.hostname);
  await once(server, 'listening');
  return { port: portOf(server, deps.port), close: () => close(server) };
};

const answerTo = async (
  { method, url = '' }: IncomingMessage,
  { notReady, metrics }: HttpDeps,
): Promise<Answer> => {
  if (method !== 'GET') return { status: 405, type: PLAIN, text: 'only GET\n' };
  switch (url) {
    case '/healthz':
      return { status: 200, type: PLAIN, text: 'ok\n' };
    case '/readyz': {
      const failing = [...notReady()].map(([part, reason]) => `${part}: ${reason}\n`).join('');
      return { status: failing === '' ? 200 : 503, type: PLAIN, text: failing || 'ok\n' };
    }
    case '/metrics':
      return { status: 200, type: metrics.contentType, text: await metrics.metrics() };
    default:
      return { status: 404, type: PLAIN, text: '/healthz, /readyz and /metrics are here\n' };
  }
};

const portOf = (server: Server, asked: number): number => {
  const address = server.address();
  return typeof address === 'object' && address !== null ? address.port : asked;
};

const close = async (server: Server): Promise<void> => {
  server.closeAllConnections();
  server.close();
  if (server.listening) await once(server, 'close');
};
