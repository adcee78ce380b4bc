/**
 * An OpenTelemetry collector, as far as a test needs one: takes traces by OTLP over HTTP, as JSON.
 */
import { Hono } from 'hono';
import * as z from 'zod';
import { listening } from './listening.ts';

const attributesSchema = z
  .array(
    z.object({
      key: z.string(),
      value: z.object({ stringValue: z.string().optional(), intValue: z.int().optional() }),
    }),
  )
  .transform((all) =>
    Object.fromEntries(
      all.map(({ key, value }) => [key, value.stringValue ?? value.intValue ?? '']),
    ),
  );
/** Nanoseconds since 1970, in a text. */
const milliseconds = z
  .string()
  .transform((nanoseconds) => Number(BigInt(nanoseconds) / 1_000_000n));

const exportSchema = z.object({
  resourceSpans: z.array(
    z.object({
      resource: z.object({ attributes: attributesSchema }),
      scopeSpans: z.array(
        z.object({
          spans: z.array(
            z.object({
              traceId: z.string(),
              spanId: z.string(),
              parentSpanId: z.string().optional(),
              name: z.string(),
              startTimeUnixNano: milliseconds,
              endTimeUnixNano: milliseconds,
              attributes: attributesSchema,
            }),
          ),
        }),
      ),
    }),
  ),
});

export type CollectedSpan = {
  service: string;
  traceId: string;
  id: string;
  parent: string | undefined;
  name: string;
  /** Milliseconds since 1970. */
  startedAt: number;
  endedAt: number;
  attributes: Readonly<Record<string, string | number>>;
};

export type Collector = {
  /** For `OTEL_EXPORTER_OTLP_ENDPOINT`. */
  url: string;
  spans: () => readonly CollectedSpan[];
  /** Bodies and headers, as they came. */
  received: () => string;
  close: () => Promise<void>;
};

export const startCollector = async (): Promise<Collector> => {
  const spans: CollectedSpan[] = [];
  const received: string[] = [];
  const app = new Hono();
  app.post('/v1/traces', async (context) => {
    const body = await context.req.text();
    received.push(`${JSON.stringify(context.req.header())} ${body}`);
    for (const { resource, scopeSpans } of exportSchema.parse(JSON.parse(body)).resourceSpans)
      for (const span of scopeSpans.flatMap((scope) => scope.spans))
        spans.push({
          service: String(resource.attributes['service.name']),
          traceId: span.traceId,
          id: span.spanId,
          parent: span.parentSpanId,
          name: span.name,
          startedAt: span.startTimeUnixNano,
          endedAt: span.endTimeUnixNano,
          attributes: span.attributes,
        });
    return context.json({});
  });
  const { url, close } = await listening(app);
  return { url, close, spans: () => spans, received: () => received.join('\n') };
};
