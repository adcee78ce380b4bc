/** POSTs reports to the coordinator. Token and CA are read again as they are rotated; the token goes nowhere else. */
import { Agent, request } from 'undici';
import * as z from 'zod';
import { reportAnswerSchema, type Report, type ReportAnswer } from '#shared/protocol/report.ts';
import { createRotatedFile } from '#shared/runtime/rotated-file.ts';

export type ReportClientOptions = {
  /** Base URL of the coordinator. */
  url: string;
  caFile?: string | undefined;
  /** Name in the coordinator's certificate; default: the host of the URL. */
  serverName?: string | undefined;
  tokenFile: string;
  namespace: string;
  pod: string;
};

export type ReportClient = {
  /** @throws Error when the coordinator is not reached, or does not accept the report */
  post: (report: Report, signal: AbortSignal) => Promise<ReportAnswer>;
  close: () => Promise<void>;
};

const TIMEOUT_MS = 10_000;
const MAX_ANSWER_BYTES = 65_536;
const HTTP_UNAUTHORIZED = 401;

export const createReportClient = (options: ReportClientOptions): ReportClient => {
  const { namespace, pod } = options;
  const path = `/v1/namespaces/${encodeURIComponent(namespace)}/pods/${encodeURIComponent(pod)}/report`;
  const endpoint = new URL(path, options.url);
  const token = createRotatedFile(options.tokenFile);
  const ca = options.caFile === undefined ? undefined : createRotatedFile(options.caFile);
  let connection: { ca: string | undefined; dispatcher: Agent } | undefined;

  const connect = async (): Promise<Agent> => {
    const trusted = await ca?.read();
    if (connection === undefined || connection.ca !== trusted) {
      await connection?.dispatcher.close();
      const dispatcher = new Agent({
        maxResponseSize: MAX_ANSWER_BYTES,
        connect: {
          ...(trusted !== undefined && { ca: trusted }),
          ...(options.serverName !== undefined && { servername: options.serverName }),
        },
      });
      connection = { ca: trusted, dispatcher };
    }
    return connection.dispatcher;
  };

  return {
    post: async (report, signal) => {
      const dispatcher = await connect();
      const { statusCode, body } = await request(endpoint, {
        method: 'POST',
        dispatcher,
        signal: AbortSignal.any([signal, AbortSignal.timeout(TIMEOUT_MS)]),
        headers: {
          authorization: `Bearer ${(await token.read()).trim()}`,
          'content-type': 'application/json',
        },
        body: JSON.stringify(report),
      });
      const text = await body.text();
      if (statusCode === HTTP_UNAUTHORIZED) token.expire();
      if (statusCode !== 200) {
        throw new Error(`the coordinator answers ${statusCode}: ${text.slice(0, 200)}`);
      }
      const answer = reportAnswerSchema.safeParse(parseJson(text));
      if (!answer.success) {
        throw new Error(`the coordinator's answer: ${z.prettifyError(answer.error)}`);
      }
      return answer.data;
    },
    close: async () => {
      await connection?.dispatcher.destroy();
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
