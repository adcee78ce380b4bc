/** A Prometheus registry per program, with its process' figures by the names that boards know. */
import { setImmediate as turn } from 'node:timers/promises';
import { VERSION } from '../own-version.ts';
import { Counter, defaultMetrics, Gauge, Registry } from './prometheus.ts';

/** What the image says of the commit that it was made from. */
const REVISION_ENV = 'SDEWAN_REVISION';

/**
 * prom-client's default set but for its event-loop monitor, which wakes the process a hundred times
 * a second, which a sidecar that should sleep must not do: the lag of one turn is measured at each
 * scrape instead.
 */
export const createMetricsRegistry = (env: NodeJS.ProcessEnv = process.env): Registry => {
  const registry = new Registry();
  for (const add of defaultMetrics) add(registry);
  const cpu = (name: string, help: string, micros: (usage: NodeJS.CpuUsage) => number): void => {
    const counter: Counter = new Counter({
      name: `process_cpu_${name}_total`,
      help,
      registers: [registry],
      collect: () => {
        counter.reset();
        counter.inc(micros(process.cpuUsage()) / 1e6);
      },
    });
  };
  cpu('user_seconds', 'CPU time of its own used so far.', ({ user }) => user);
  cpu('system_seconds', 'CPU time of the kernel used so far for it.', ({ system }) => system);
  cpu('seconds', 'CPU time used so far, user and system.', ({ user, system }) => user + system);
  const lag: Gauge = new Gauge({
    name: 'nodejs_eventloop_lag_seconds',
    help: 'Lag of the event loop at the moment of the scrape.',
    registers: [registry],
    collect: async () => {
      const startedAt = performance.now();
      await turn();
      lag.set((performance.now() - startedAt) / 1_000);
    },
  });
  new Gauge({
    name: 'sdewan_build_info',
    help: 'Always 1: version, and the commit that the image says it was made from.',
    labelNames: ['version', 'revision'],
    registers: [registry],
  }).set({ version: VERSION, revision: env[REVISION_ENV] || 'unknown' }, 1);
  return registry;
};
