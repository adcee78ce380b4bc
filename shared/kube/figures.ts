/** What a program's requests to the API server come to: those that failed, and its watches. */
import { Counter, Gauge, type Registry } from '../metrics/prometheus.ts';
import type { KubeClient } from './client.ts';
import { KubeError } from './errors.ts';
import type { WatchPhase } from './informer/watch-state.ts';

/** A kind that the server does not serve is none: a later version brings it. */
const FAILING: ReadonlySet<WatchPhase> = new Set(['Forbidden', 'Silent', 'Failing']);

/**
 * Makes of a client the same, counted. What callers abort themselves is no failure. `onAnswer`:
 * called at each answer, a refusal included.
 */
export const createClientCounter = (
  registry: Registry,
  onAnswer: () => void = () => {},
): ((client: KubeClient) => KubeClient) => {
  const registers = [registry];
  const errors = new Counter({
    name: 'sdewan_kube_errors_total',
    help: 'Requests to the API server that failed, by verb and HTTP status; 0: no answer came. 404 and 409 are among them, which are no fault by themselves.',
    labelNames: ['verb', 'status'],
    registers,
  });
  const watches = new Map<object, { resource: string; phase: WatchPhase }>();
  const known = new Set<string>();
  const failing: Gauge<'resource'> = new Gauge({
    name: 'sdewan_kube_watches_failing',
    help: 'Watches of a resource that the API server refuses, or that do not get through to it; what they have brought stays.',
    labelNames: ['resource'],
    registers,
    collect: () => {
      for (const resource of known) failing.set({ resource }, 0);
      for (const { resource, phase } of watches.values())
        if (FAILING.has(phase)) failing.inc({ resource });
    },
  });
  const counted = async <T>(verb: string, call: Promise<T>): Promise<T> => {
    try {
      const answer = await call;
      onAnswer();
      return answer;
    } catch (error) {
      if (error instanceof KubeError) errors.inc({ verb, status: error.status });
      if (error instanceof KubeError && error.status > 0) onAnswer();
      throw error;
    }
  };
  return (client) => ({
    ...client,
    get: (...call) => counted('get', client.get(...call)),
    list: (...call) => counted('list', client.list(...call)),
    create: (...call) => counted('create', client.create(...call)),
    replace: (...call) => counted('replace', client.replace(...call)),
    patch: (...call) => counted('patch', client.patch(...call)),
    delete: (...call) => counted('delete', client.delete(...call)),
    watch: (...call) => counted('watch', client.watch(...call)),
    onWatchState: (watch, resource, phase) => {
      known.add(resource);
      if (phase === undefined) watches.delete(watch);
      else watches.set(watch, { resource, phase });
    },
  });
};
