/** Traces of changes, for an OpenTelemetry collector. The SDK is loaded only where one is named. */
import type { Logger } from '#shared/runtime/log.ts';
import type { Tracing } from './spans.ts';

export const withoutTracing: Tracing = { isOn: false, add: () => {}, close: async () => {} };

/** `endpoint`: undefined where there is none. The exporter itself reads the other variables. */
export const startTracing = async (
  endpoint: string | undefined,
  options: { instance: string; log: Logger },
): Promise<Tracing> => {
  if (endpoint === undefined) return withoutTracing;
  const { createOtlpTracing } = await import('./otlp.ts');
  return createOtlpTracing(options);
};
