/** HTTP for people and Prometheus. The kubelet's probes are files: rules can drop its packets. */
import type { IncomingMessage } from 'node:http';
import type { Registry } from '#shared/metrics/prometheus.ts';
import { metricsAnswer, PLAIN, serve, type Answer, type RunningHttp } from './serve.ts';

export type HttpDeps = {
  hostname: string;
  /** 0: any free one. */
  port: number;
  /** Parts that keep the agent from being ready, each with its reason; none when it is ready. */
  notReady: () => ReadonlyMap<string, string>;
  metrics: Registry;
};

/** Resolves when it listens. @throws when the address is taken */
export const serveHttp = async (deps: HttpDeps): Promise<RunningHttp> =>
  serve({ ...deps, answer: (request) => answerTo(request, deps) });

const answerTo = async (
  { method, url = '' }: Pick<IncomingMessage, 'method' | 'url'>,
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
      return metricsAnswer(metrics);
    default:
      return { status: 404, type: PLAIN, text: '/healthz, /readyz and /metrics are here\n' };
  }
};
