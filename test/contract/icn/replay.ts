/** Sends recorded REST requests to a simulator, and tells what of an answer is compared. */
import { request } from 'node:http';
import { CUT, type Exchange } from '../recordings/read.ts';

export type IcnAnswer = {
  status: number;
  reason?: string;
  body: string;
  headers?: Readonly<Record<string, string | string[] | undefined>>;
};

/** Our own session stands in for the recorded one. */
export const createReplay = (url: () => string): ((exchange: Exchange) => Promise<IcnAnswer>) => {
  const sessions = new Map<string, string>();
  return async (exchange) => {
    const headers = Object.fromEntries(
      Object.entries(exchange.request.headers).map(([name, value]) => [
        name,
        value.replaceAll(SESSION, (id) => sessions.get(id) ?? id),
      ]),
    );
    const body = wholeBody(exchange.request);
    const received = await send(url(), { ...exchange.request, headers, body });
    const [here, recorded] = [received, exchange.response].map((answer) => sessionIn(answer));
    if (here !== undefined && recorded !== undefined) sessions.set(recorded, here);
    return received;
  };
};

/** Bodies that the record cut end in a long text of one letter. */
const wholeBody = ({ body, body_truncated_from: length }: Exchange['request']): string => {
  if (length === undefined) return body ?? '';
  const beginning = (body ?? '').slice(0, -CUT.length);
  return `${beginning.padEnd(length - END.length, 'x')}${END}`;
};

const END = '"}';

const SESSION = /\b[0-9a-f]{32}\b/g;

const sessionIn = (answer: Partial<IcnAnswer> | undefined): string | undefined =>
  String(answer?.headers?.['set-cookie'] ?? answer?.headers?.['Set-Cookie']).match(SESSION)?.[0];

/**
 * What differs and why: keys of JSON objects come in the order of Lua's hash table; of a Lua error
 * only the first line is simulated, of LuCI's pages only their kind.
 */
export const comparableAnswer = (
  { request: { method }, response }: Exchange,
  { status, reason, body }: IcnAnswer,
): unknown => {
  const common = { status, ...(method === 'HEAD' ? {} : { reason }) };
  if (body.startsWith('<!DOCTYPE html>')) return { ...common, body: 'a page' };
  if (response?.body_truncated_from !== undefined)
    return { ...common, length: body.endsWith(CUT) ? response.body_truncated_from : body.length };
  if (status === 500) return { ...common, body: body.split('\n')[0] };
  try {
    const value: unknown = JSON.parse(body);
    return { ...common, body: value };
  } catch {
    return { ...common, body };
  }
};

const send = (
  url: string,
  { method, path, headers, body }: Exchange['request'],
): Promise<IcnAnswer> =>
  new Promise((resolve, reject) => {
    const bytes = Buffer.from(body ?? '', 'utf8');
    const length = method === 'GET' ? {} : { 'Content-Length': bytes.length };
    const outgoing = request(
      `${url}${path}`,
      { method, headers: { ...headers, ...length }, agent: false },
      (response) => {
        const chunks: Buffer[] = [];
        response.on('data', (chunk: Buffer) => chunks.push(chunk));
        response.on('error', reject);
        response.on('end', () =>
          resolve({
            status: response.statusCode ?? 0,
            reason: (response.statusMessage ?? '').trimEnd(),
            body: asRecorded(Buffer.concat(chunks)),
            headers: response.headers,
          }),
        );
      },
    );
    outgoing.on('error', reject);
    outgoing.end(method === 'GET' ? undefined : bytes);
  });

/** The record has bytes that are no UTF-8 as lone surrogates from U+DC80 on. */
const asRecorded = (bytes: Buffer): string => {
  const text = bytes.toString('utf8');
  if (!text.includes('\ufffd')) return text;
  return surrogateEscaped(bytes);
};

const surrogateEscaped = (bytes: Buffer): string => {
  let text = '';
  for (let at = 0; at < bytes.length;) {
    const length = [1, 2, 3, 4].find(
      (size) => !bytes.toString('utf8', at, at + size).includes('\ufffd'),
    );
    text +=
      length === undefined
        ? String.fromCharCode(0xdc00 + (bytes[at] ?? 0))
        : bytes.toString('utf8', at, at + length);
    at += length ?? 1;
  }
  return text;
};
