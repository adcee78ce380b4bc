/**
 * POSTs reports to the coordinator, on a connection that stays for the next one, and asks it about
 * the API server. Token and CA are read again as they are rotated; the token goes nowhere else.
 */
import * as z from 'zod';
import { API_SERVER_PATH, apiServerAnswerSchema } from '#shared/protocol/api-server.ts';
import {
  MAX_ANSWER_BYTES,
  OTHERS_HEADER,
  reportAnswerSchema,
  type Report,
  type ReportAnswer,
} from '#shared/protocol/report.ts';
import type { Clock } from '#shared/runtime/clock.ts';
import { createRotatedFile } from '#shared/http/rotated-file.ts';
import { exchange, type Exchange } from '#shared/http/exchange.ts';
import { createKeptConnection } from '#shared/http/kept-connection.ts';
import { jsonIn } from '#shared/util/json.ts';

/** One coordinator. */
export type ReportTarget = {
  url: URL;
  /** Name in its certificate; undefined: the host of the URL. */
  serverName: string | undefined;
  /** To how many other coordinators the agent reports, too. */
  others: () => number;
};

export type ReportClientOptions = {
  target: ReportTarget;
  caFile?: string | undefined;
  tokenFile: string;
  namespace: string;
  pod: string;
  clock: Clock;
};

/** The coordinator's answer is not 200. */
export class ReportRefused extends Error {
  override name = 'ReportRefused';
  /** What the coordinator calls it; undefined when the answer is none of its own. */
  readonly code: string | undefined;

  constructor(status: number, text: string) {
    super(`the coordinator answers ${status}: ${text.slice(0, 200)}`);
    this.code = refusalSchema.safeParse(jsonIn(text)).data?.error.code;
  }
}

const refusalSchema = z.object({ error: z.object({ code: z.string() }) });

export type ReportClient = {
  /** @throws ReportRefused; Error when the coordinator is not reached, or not understood */
  post: (report: Report, signal: AbortSignal) => Promise<ReportAnswer>;
  /** Whether the API server was just away for the coordinator, too. No token. @throws as `post` */
  wasApiServerAway: (signal: AbortSignal) => Promise<boolean>;
  /** Its connection. A later report makes a new one. */
  close: () => void;
};

const TIMEOUT_MS = 10_000;
/** The agent may be cut off: nothing is undone meanwhile. */
const ASK_TIMEOUT_MS = 2_000;
const HTTP_UNAUTHORIZED = 401;
/** A connection with a slower answer is not used again: the next report of the pod is due. */
const SLOW_MS = 2_000;

export const createReportClient = (options: ReportClientOptions): ReportClient => {
  const { namespace, pod, clock, target } = options;
  const path = `/v1/namespaces/${encodeURIComponent(namespace)}/pods/${encodeURIComponent(pod)}/report`;
  const endpoint = new URL(path, target.url);
  const token = createRotatedFile(options.tokenFile, { clock });
  const ca =
    options.caFile === undefined ? undefined : createRotatedFile(options.caFile, { clock });
  const kept = createKeptConnection(clock);
  const send = async (
    request: Pick<
      Exchange,
      'method' | 'url' | 'headers' | 'body' | 'timeoutMs' | 'signal' | 'kept'
    >,
  ): Promise<{ status: number; text: string }> => {
    const { serverName } = target;
    const limits = { maxBytes: MAX_ANSWER_BYTES, clock };
    const { status, body } = await exchange({
      ...request,
      ...limits,
      ca: await ca?.read(),
      serverName,
    });
    return { status, text: body.toString('utf8') };
  };
  return {
    post: async (report, signal) => {
      const startedAt = clock.monotonic();
      const { status, text } = await send({
        method: 'POST',
        url: endpoint,
        headers: {
          authorization: `Bearer ${(await token.read()).trim()}`,
          'content-type': 'application/json',
          [OTHERS_HEADER]: String(target.others()),
        },
        body: JSON.stringify(report),
        signal,
        timeoutMs: TIMEOUT_MS,
        kept,
      });
      if (status !== 200 || clock.monotonic() - startedAt > SLOW_MS) kept.drop();
      if (status === HTTP_UNAUTHORIZED) token.expire();
      return answerIn(reportAnswerSchema, status, text);
    },
    wasApiServerAway: async (signal) => {
      const url = new URL(API_SERVER_PATH, target.url);
      const limits = { signal, timeoutMs: ASK_TIMEOUT_MS };
      const { status, text } = await send({ method: 'GET', url, headers: {}, ...limits });
      return answerIn(apiServerAnswerSchema, status, text).wasAway;
    },
    close: kept.drop,
  };
};

const answerIn = <T>(schema: z.ZodType<T>, status: number, text: string): T => {
  if (status !== 200) throw new ReportRefused(status, text);
  const answer = schema.safeParse(jsonIn(text));
  if (!answer.success)
    throw new Error(`the coordinator's answer: ${z.prettifyError(answer.error)}`);
  return answer.data;
};
