/**
 * JSON-RPC at `/ubus` (uhttpd-mod-ubus): one POST, one or several ubus calls. Does nothing with
 * sessions but pass the id on, and never puts an argument or an id into an error: they hold
 * passwords and session ids.
 */
import * as z from 'zod';
import type { Clock } from '#shared/runtime/clock.ts';
import { exchange, type Answer } from '#shared/http/exchange.ts';
import { jsonIn } from '#shared/util/json.ts';
import { reasonOf } from '#shared/runtime/errors.ts';
import { parseUntrusted } from '#shared/util/untrusted.ts';
import type { Unanswered } from '../../../io/unanswered.ts';
import { OpenwrtApiMissingError, OpenwrtError, OpenwrtUnreachableError } from '../../driver.ts';

/** uhttpd answers a longer body with -32700 and closes the connection (measured). */
export const MAX_BODY_BYTES = 65_536;
/** A ubus message over 1 MiB kills rpcd, so no answer worth reading is longer, escapes included. */
const MAX_ANSWER_BYTES = 8 * 1_048_576;
const CALL_TIMEOUT_MS = 5_000;

/** Status codes of ubus that this product tells apart. */
export const UBUS_STATUS = {
  notFound: 4,
  noData: 5,
  permissionDenied: 6,
  timeout: 7,
  unknownError: 9,
} as const;
/** JSON-RPC: the session is unknown or expired, or its login may not call this method at all. */
export const ACCESS_DENIED = -32_002;

/** JSON-RPC: uhttpd has waited long enough, 60 s as OpenWRT has it set. */
export const REQUEST_TIMED_OUT = -32_003;

export type UbusCall = {
  object: string;
  method: string;
  args?: Readonly<Record<string, unknown>>;
};

/** `code` 0 is success; positive codes are ubus's, negative ones JSON-RPC's. */
export type UbusAnswer = { code: number; data: unknown };

/** rpcd and ubusd deny with the same code. */
const DENIED = "permission denied, by the login's rights or by the ACL of ubus in /usr/share/acl.d";

export class UbusError extends OpenwrtError {
  override name = 'UbusError';
  readonly object: string;
  readonly method: string;
  readonly code: number;
  constructor(
    call: UbusCall,
    code: number,
    detail = code === UBUS_STATUS.permissionDenied ? DENIED : '',
  ) {
    super(`ubus ${call.object} ${call.method}`, `answered code ${code}${detail && `: ${detail}`}`);
    this.object = call.object;
    this.method = call.method;
    this.code = code;
  }
}

export type RpcOptions = {
  signal: AbortSignal;
  /** For what OpenWRT may work on for some time; absent: it answers at once, or does not answer. */
  timeoutMs?: number;
  /** Strings of the answer hold one character per byte: output may be cut within a character. */
  bytes?: boolean;
};

export type Rpc = {
  /** Answers in the order of the calls, which run one after the other. @throws OpenwrtError */
  send: (
    session: string,
    calls: readonly UbusCall[],
    options: RpcOptions,
  ) => Promise<readonly UbusAnswer[]>;
};

export type RpcTarget = {
  /** The URL of the web server, e.g. `http://127.0.0.1:80`; `/ubus` is added. */
  url: string;
  /** PEM; only with https. Absent: the roots that Node ships. */
  ca?: string | undefined;
  /** Name in the certificate, where it differs from the URL's host. */
  serverName?: string | undefined;
};

const envelopeSchema = z.union([
  z.object({ result: z.tuple([z.int()], z.unknown()) }),
  z.object({ error: z.object({ code: z.int() }) }),
]);

export const createRpc = (
  { url, ca, serverName }: RpcTarget,
  { clock, unanswered }: { clock: Pick<Clock, 'after'>; unanswered: Pick<Unanswered, 'during'> },
): Rpc => {
  const endpoint = new URL('/ubus', url);
  const post = async (attempted: string, body: string, options: RpcOptions): Promise<unknown> => {
    if (Buffer.byteLength(body) > MAX_BODY_BYTES) {
      throw new OpenwrtError(attempted, `the request is over ${MAX_BODY_BYTES} bytes`);
    }
    const { signal, timeoutMs } = options;
    const send = (): Promise<Answer> =>
      exchange({
        method: 'POST',
        url: endpoint,
        headers: { 'content-type': 'application/json' },
        body,
        ca,
        serverName,
        maxBytes: MAX_ANSWER_BYTES,
        signal,
        timeoutMs: timeoutMs ?? CALL_TIMEOUT_MS,
        clock,
      });
    try {
      const answer = await (timeoutMs === undefined ? unanswered.during(send) : send());
      if (answer.status !== 200) {
        const Kind = answer.status >= 500 ? OpenwrtUnreachableError : OpenwrtApiMissingError;
        throw new Kind(attempted, `HTTP status ${answer.status}`);
      }
      return parseJson(attempted, answer.body.toString(options.bytes === true ? 'latin1' : 'utf8'));
    } catch (error) {
      signal.throwIfAborted();
      if (error instanceof OpenwrtError) throw error;
      throw new OpenwrtUnreachableError(attempted, reasonOf(error), error);
    }
  };

  return {
    send: async (session, calls, options) => {
      const attempted = `ubus ${[...new Set(calls.map(({ object, method }) => `${object} ${method}`))].join(', ')}`;
      const requests = calls.map(({ object, method, args = {} }, id) => ({
        jsonrpc: '2.0',
        id,
        method: 'call',
        params: [session, object, method, args],
      }));
      const single = requests.length === 1;
      const answer = await post(
        attempted,
        JSON.stringify(single ? requests[0] : requests),
        options,
      );
      const envelopes = parseUntrusted(z.array(envelopeSchema), single ? [answer] : answer);
      if (!envelopes.success || envelopes.data.length !== calls.length) {
        throw new OpenwrtApiMissingError(attempted, 'the answer is not valid JSON-RPC');
      }
      return envelopes.data.map((envelope) =>
        'error' in envelope
          ? { code: envelope.error.code, data: undefined }
          : { code: envelope.result[0], data: envelope.result[1] },
      );
    },
  };
};

const parseJson = (attempted: string, text: string): unknown => {
  const json = jsonIn(text);
  if (json === undefined) throw new OpenwrtApiMissingError(attempted, 'the answer is not JSON');
  return json;
};
