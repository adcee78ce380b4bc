/** POSTs reports to the coordinator. Token and CA are read again as they are rotated; the token goes nowhere else. */
import * as z from 'zod';
import {
  OTHERS_HEADER,
  reportAnswerSchema,
  type Report,
  type ReportAnswer,
} from '#shared/protocol/report.ts';
import type { Clock } from '#shared/runtime/clock.ts';
import { createRotatedFile } from '#shared/runtime/rotated-file.ts';
import { exchange } from '#shared/runtime/exchange.ts';

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
    this.code = refusalSchema.safeParse(parseJson(text)).data?.error.code;
  }
}

const refusalSchema = z.object({ error: z.object({ code: z.string() }) });

export type ReportClient = {
  /** @throws ReportRefused @throws Error when the coordinator is not reached, or its answer is not understood */
  post: (report: Report, signal: AbortSignal) => Promise<ReportAnswer>;
};

const TIMEOUT_MS = 10_000;
const MAX_ANSWER_BYTES = 65_536;
const HTTP_UNAUTHORIZED = 401;

export const createReportClient = (options: ReportClientOptions): ReportClient => {
  const { namespace, pod, clock, target } = options;
  const path = `/v1/namespaces/${encodeURIComponent(namespace)}/pods/${encodeURIComponent(pod)}/report`;
  const endpoint = new URL(path, target.url);
  const token = createRotatedFile(options.tokenFile, { clock });
  const ca =
    options.caFile === undefined ? undefined : createRotatedFile(options.caFile, { clock });
  return {
    post: async (report, signal) => {
      const { status, body } = await exchange({
        method: 'POST',
        url: endpoint,
        ca: await ca?.read(),
        serverName: target.serverName,
        headers: {
          authorization: `Bearer ${(await token.read()).trim()}`,
          'content-type': 'application/json',
          [OTHERS_HEADER]: String(target.others()),
        },
        body: JSON.stringify(report),
        maxBytes: MAX_ANSWER_BYTES,
        signal,
        timeoutMs: TIMEOUT_MS,
        clock,
      });
      const text = body.toString('utf8');
      if (status === HTTP_UNAUTHORIZED) token.expire();
      if (status !== 200) throw new ReportRefused(status, text);
      const answer = reportAnswerSchema.safeParse(parseJson(text));
      if (!answer.success) {
        throw new Error(`the coordinator's answer: ${z.prettifyError(answer.error)}`);
      }
      return answer.data;
    },
  };
};

const parseJson = (text: string): unknown => {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
};
