/** Spans by OpenTelemetry's SDK to a collector, by OTLP. Imported only for traces. */
import {
  diag,
  DiagLogLevel,
  ROOT_CONTEXT,
  trace,
  TraceFlags,
  type DiagLogFunction,
  type Tracer,
} from '@opentelemetry/api';
import { OTLPTraceExporter } from '@opentelemetry/exporter-trace-otlp-http';
import { resourceFromAttributes } from '@opentelemetry/resources';
import { BatchSpanProcessor, RandomIdGenerator, TracerProvider } from '@opentelemetry/sdk-trace';
import { VERSION } from '#shared/own-version.ts';
import type { Logger } from '#shared/runtime/log.ts';
import { idsOf, type TraceIds } from './change.ts';
import type { Span, Tracing } from './spans.ts';

const CLOSE_MS = 2_000;
/** One `kubectl apply` of a thousand rules on three pods; what does not fit is lost. */
const MAX_QUEUED = 20_000;

export const createOtlpTracing = ({
  instance,
  log,
}: {
  instance: string;
  log: Logger;
}): Tracing => {
  const says =
    (level: 'warn' | 'debug'): DiagLogFunction =>
    (message) =>
      log[level]({ reason: message }, 'OpenTelemetry');
  const [warn, debug] = [says('warn'), says('debug')];
  diag.setLogger(
    { error: warn, warn, info: debug, debug, verbose: debug },
    { logLevel: DiagLogLevel.WARN, suppressOverrideMessage: true },
  );
  const processor = new BatchSpanProcessor({
    exporter: new OTLPTraceExporter(),
    maxQueueSize: MAX_QUEUED,
  });
  const ids = createIds();
  const tracerOf = (service: Span['service'], attributes: Record<string, string>): Tracer =>
    new TracerProvider({
      resource: resourceFromAttributes({
        'service.namespace': 'sdewan',
        'service.name': service,
        ...attributes,
      }),
      idGenerator: ids,
      spanProcessors: [processor],
    }).getTracer('sdewan');
  const tracers = {
    'sdewan-agent': tracerOf('sdewan-agent', {}),
    'sdewan-coordinator': tracerOf('sdewan-coordinator', {
      'service.instance.id': instance,
      'service.version': VERSION,
    }),
  };

  const add = ({ change, service, name, isRoot, startedAt, endedAt, attributes }: Span): void => {
    const { traceId, rootId } = idsOf(change);
    const parent = { traceId, spanId: rootId, traceFlags: TraceFlags.SAMPLED, isRemote: true };
    const within = isRoot ? ROOT_CONTEXT : trace.setSpanContext(ROOT_CONTEXT, parent);
    const given = { startTime: startedAt, attributes: { ...attributes } };
    const begin = () => tracers[service].startSpan(name, given, within);
    const span = isRoot ? ids.as({ traceId, rootId }, begin) : begin();
    span.end(endedAt);
  };

  return {
    isOn: true,
    add: (spans) => spans.forEach(add),
    close: async () => {
      await Promise.race([
        processor.shutdown().catch((error: unknown) => log.warn({ err: error }, 'traces are lost')),
        new Promise((resolve) => setTimeout(resolve, CLOSE_MS).unref()),
      ]);
    },
  };
};

/** Random ones, but for the root of a change, which what makes the other spans must know. */
const createIds = () => {
  const random = new RandomIdGenerator();
  let given: TraceIds | undefined;
  return {
    generateTraceId: () => given?.traceId ?? random.generateTraceId(),
    generateSpanId: () => given?.rootId ?? random.generateSpanId(),
    as: <T>(ids: TraceIds, work: () => T): T => {
      given = ids;
      try {
        return work();
      } finally {
        given = undefined;
      }
    },
  };
};
