/**
 * Sends recorded requests to a simulator and compares the answers. Knows session ids, cut bodies
 * and raw answers; no exchange by name.
 */
import type { Simulator } from '../../openwrt/simulator/simulator.ts';
import { CUT, type Exchange } from '../recordings/read.ts';
import { parseRaw, send, sendRaw, type Received } from './client.ts';
import { comparable } from './differences.ts';

export type Replay = {
  /** Sends the request and gives the answer, in the words of the record. */
  exchange: (exchange: Exchange, wholeBody?: string) => Promise<Received>;
};

export const createReplay = (simulator: () => Simulator): Replay => {
  /** Our session id by the recorded one. */
  const sessions = new Map<string, string>();
  const translate = (text: string): string =>
    text.replaceAll(SESSION_ID, (id) => sessions.get(id) ?? id);
  const translated = (headers: Record<string, string>): Record<string, string> =>
    Object.fromEntries(Object.entries(headers).map(([name, value]) => [name, translate(value)]));
  return {
    exchange: async (exchange, wholeBody) => {
      const { request } = exchange;
      const body = translate(toByteString(wholeBody ?? request.body ?? ''));
      const received =
        exchange.response_raw === undefined
          ? await send(simulator().url, { ...request, headers: translated(request.headers), body })
          : parseRaw(await sendRaw(simulator().url, rawRequest(exchange, body)));
      const [here] = SESSION.exec(received.body)?.slice(1) ?? [];
      const [recorded] = SESSION.exec(exchange.response?.body ?? '')?.slice(1) ?? [];
      if (here !== undefined && recorded !== undefined) sessions.set(recorded, here);
      return { ...received, body: inWordsOf(sessions, received.body) };
    },
  };
};

/**
 * An answer as it is compared; of a body that the record cut, the recorded beginning and the length
 * of the whole.
 */
export type Answer = { status: number; body: string; length?: number };

export const recordedAnswer = (exchange: Exchange): Answer => {
  if (!exchange.response) return comparableAnswer(exchange, parseRaw(exchange.response_raw ?? ''));
  const { status, body, body_truncated_from: length } = exchange.response;
  return length === undefined
    ? comparableAnswer(exchange, { status, body: toByteString(body) })
    : { status, body: toByteString(body).slice(0, -CUT.length), length };
};

export const answerOf = ({ status, body }: Received, exchange: Exchange): Answer => {
  if (exchange.response?.body_truncated_from === undefined)
    return comparableAnswer(exchange, { status, body });
  const beginning = toByteString(exchange.response.body).length - CUT.length;
  return { status, body: body.slice(0, beginning), length: body.length };
};

const comparableAnswer = ({ name }: Exchange, { status, body }: Received): Answer => ({
  status,
  body: comparable(name, body),
});

const SESSION_ID = /\b[0-9a-f]{32}\b/g;
const SESSION = /"ubus_rpc_session":"([0-9a-f]{32})"/;

const inWordsOf = (sessions: ReadonlyMap<string, string>, body: string): string => {
  let text = body;
  for (const [recorded, here] of sessions) text = text.replaceAll(here, recorded);
  return text;
};

const rawRequest = ({ name, request }: Exchange, body: string): string =>
  [
    `${request.method} ${request.path} HTTP/1.1`,
    'Host: openwrt',
    'Connection: close',
    'Content-Type: application/json',
    ...(name.includes('Expect') ? ['Expect: 100-continue'] : []),
    `Content-Length: ${body.length}`,
    '',
    body,
  ].join('\r\n');

/** The record has bytes that are no UTF-8 as lone surrogates from U+DC80 on. */
const toByteString = (text: string): string =>
  Array.from(text)
    .map((character) => {
      const code = character.codePointAt(0) ?? 0;
      if (code < 0x80) return character;
      if (code >= 0xdc80 && code <= 0xdcff) return String.fromCharCode(code - 0xdc00);
      return Buffer.from(character, 'utf8').toString('latin1');
    })
    .join('');
