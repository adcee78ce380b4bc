/**
 * A small HTTP server. Plain node:http, since hono's adapter loads Node's built-in fetch: 15 MB of
 * memory per agent (measured, Node 26).
 */
import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import { once } from 'node:events';
import type { Registry } from '#shared/metrics/prometheus.ts';

export type RunningHttp = { port: number; close: () => Promise<void> };

export type Answer = { status: number; type: string; text: string };

export type ServeOptions = {
  hostname: string;
  /** 0: any free one. */
  port: number;
  answer: (request: Pick<IncomingMessage, 'method' | 'url' | 'headers'>) => Promise<Answer>;
  /** More are cut off at once. */
  maxConnections?: number;
};

export const PLAIN = 'text/plain; charset=utf-8';

/** What Prometheus gets. */
export const metricsAnswer = async (
  registry: Pick<Registry, 'contentType' | 'metrics'>,
): Promise<Answer> => ({
  status: 200,
  type: registry.contentType,
  text: await registry.metrics(),
});

const REQUEST_TIMEOUT_MS = 10_000;

/** Resolves when it listens. @throws when the address is taken */
export const serve = async (options: ServeOptions): Promise<RunningHttp> => {
  const handle = async (request: IncomingMessage, response: ServerResponse): Promise<void> => {
    const { status, type, text } = await options.answer(request);
    response.writeHead(status, { 'content-type': type });
    response.end(text);
  };
  const server = createServer({ requestTimeout: REQUEST_TIMEOUT_MS }, (request, response) => {
    void handle(request, response);
  });
  if (options.maxConnections !== undefined) server.maxConnections = options.maxConnections;
  server.listen(options.port, options.hostname);
  await once(server, 'listening');
  return { port: portOf(server, options.port), close: () => close(server) };
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
