/** A Prometheus registry per program, with the few process figures that cost nothing at rest. */
import { Counter, Gauge, Registry } from './prometheus.ts';

/**
 * prom-client's own default metrics are left out: its event-loop monitor wakes the process a hundred times a second, which a
 * sidecar that should sleep must not do.
 */
export const createMetricsRegistry = (): Registry => {
  const registry = new Registry();
  const gauge = (name: string, help: string, read: () => number): void => {
    const created: Gauge = new Gauge({
      name,
      help,
      registers: [registry],
      collect: () => created.set(read()),
    });
  };
  const startedAt = Date.now() / 1000 - process.uptime();
  gauge('process_start_time_seconds', 'Start of the process, Unix time.', () => startedAt);
  gauge('process_resident_memory_bytes', 'Resident memory.', () => process.memoryUsage.rss());
  gauge('nodejs_heap_used_bytes', 'JavaScript heap in use.', () => process.memoryUsage().heapUsed);
  const cpu: Counter = new Counter({
    name: 'process_cpu_seconds_total',
    help: 'CPU time used so far, user and system.',
    registers: [registry],
    collect: () => {
      const { user, system } = process.cpuUsage();
      cpu.reset();
      cpu.inc((user + system) / 1e6);
    },
  });
  return registry;
};
