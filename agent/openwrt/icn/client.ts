/**
 * Calls of ICN's REST API below `/cgi-bin/luci/sdewan/`, one at a time: the API has one staging
 * area for all. Owns LuCI's cookie, which goes into no log and no error. No call needs the login on
 * the image as measured; images that ask for it answer 403, and get it.
 */
import type { Clock } from '#shared/runtime/clock.ts';
import type { Answer } from '#shared/http/exchange.ts';
import { exchange } from '#shared/http/exchange.ts';
import { jsonIn } from '#shared/util/json.ts';
import { reasonOf } from '#shared/runtime/errors.ts';
import { createUnanswered } from '../../io/unanswered.ts';
import { readText, readUsername, type OpenwrtTarget } from '../ubus/login/credentials.ts';
import {
  OpenwrtApiMissingError,
  OpenwrtError,
  OpenwrtLoginRefusedError,
  OpenwrtUnreachableError,
} from '../driver.ts';
import { createLoginGate } from '../ubus/login/login-gate.ts';

const LOGIN_PATH = '/cgi-bin/luci/';
const REST_PATH = '/cgi-bin/luci/sdewan/';
/** LuCI cuts a longer body off (measured). */
const MAX_BODY_BYTES = 102_400;
const MAX_ANSWER_BYTES = 16 * 1_048_576;
/** Calls took 12 to 81 ms with 1,000 objects there (measured); a CNF under load is far slower. */
const CALL_TIMEOUT_MS = 15_000;

/**
 * A server error passes, such as a fork that failed: tried again after these milliseconds. Not more
 * than some seconds in all, since one object that always ends in one holds up the others for so
 * long.
 */
export const RETRY_AFTER_MS = [250, 1_000, 2_000] as const;

export type RestCall = {
  method: 'GET' | 'POST' | 'PUT' | 'DELETE';
  /** Below the API. */
  path: string;
  body?: string;
  timeoutMs?: number;
};

export type RestAnswer = {
  status: number;
  /** Undefined when the body is not JSON, as errors are not always. */
  json: unknown;
  /** What an error says, as far as it may be shown. */
  message: string;
};

export type RestClient = {
  /** Every status is returned. @throws OpenwrtUnreachableError, OpenwrtApiMissingError */
  call: (call: RestCall, signal: AbortSignal) => Promise<RestAnswer>;
  /** Whether there was a call, so that `look` has a session. */
  hasSession: () => boolean;
  /**
   * GETs something for people to read, beside the calls: makes no session, and a failure does not
   * count as OpenWRT being lost. Undefined when the API does not give it. @throws
   * OpenwrtUnreachableError
   */
  look: (path: string, signal: AbortSignal) => Promise<unknown>;
  /** Changes when OpenWRT was lost and found again. */
  losses: () => number;
  /** `Driver.unansweredSince` */
  unansweredSince: () => number | undefined;
  /** Ends the session. Never throws. */
  close: () => Promise<void>;
};

export const createRestClient = (
  target: OpenwrtTarget,
  clock: Pick<Clock, 'monotonic' | 'after' | 'sleep'>,
): RestClient => {
  const gate = createLoginGate(clock);
  const { sendOnce, send, losses, unansweredSince } = createSender(target, clock);
  let cookie: string | undefined;

  const logIn = async (signal: AbortSignal): Promise<string> => {
    const [username, password] = await Promise.all([
      readUsername(target.usernameFile),
      readText(target.passwordFile),
    ]);
    const form = new URLSearchParams({ luci_username: username, luci_password: password });
    const call: RestCall = { method: 'POST', path: 'login', body: form.toString() };
    const headers = { 'content-type': 'application/x-www-form-urlencoded' };
    const front: RestCall = { method: 'GET', path: 'its front page' };
    return gate.pass(
      { username, password },
      {
        logIn: async () =>
          cookieIn(await send(call, new URL(LOGIN_PATH, target.url), headers, signal)),
        look: () => send(front, new URL('/', target.url), {}, signal),
      },
    );
  };

  const attempt = async (call: RestCall, signal: AbortSignal): Promise<Answer> => {
    cookie ??= await logIn(signal);
    const url = new URL(REST_PATH + call.path, target.url);
    const type = call.body === undefined ? {} : { 'content-type': 'application/json' };
    return send(call, url, { cookie, ...type }, signal);
  };

  return {
    losses,
    unansweredSince,
    hasSession: () => cookie !== undefined,
    look: async (path, signal) => {
      const call: RestCall = { method: 'GET', path };
      const url = new URL(REST_PATH + path, target.url);
      const headers = cookie === undefined ? {} : { cookie };
      const answer = await sendOnce(call, url, headers, signal);
      if (answer.status === 403 || answer.status >= 502)
        throw new OpenwrtUnreachableError(attemptOf(call), `HTTP status ${answer.status}`);
      return answer.status === 200 ? readAnswer(answer).json : undefined;
    },
    call: async (call, signal) => {
      if (call.body !== undefined && Buffer.byteLength(call.body) > MAX_BODY_BYTES) {
        return { status: 413, json: undefined, message: `it is over ${MAX_BODY_BYTES} bytes` };
      }
      let answer = await attempt(call, signal);
      if (answer.status === 403) {
        cookie = undefined;
        answer = await attempt(call, signal);
      }
      // What else a call does must be looked at before it is done twice.
      for (const ms of call.method === 'GET' ? RETRY_AFTER_MS : []) {
        if (!isOfTheMoment(answer)) break;
        await clock.sleep(ms, signal);
        answer = await attempt(call, signal);
      }
      const attempted = attemptOf(call);
      if (answer.status === 403)
        throw new OpenwrtError(attempted, 'it answers 403 after a new login, too');
      if (answer.status >= 502)
        throw new OpenwrtUnreachableError(attempted, `HTTP status ${answer.status}`);
      return readAnswer(answer);
    },
    close: async () => {
      const ended = cookie;
      cookie = undefined;
      if (ended === undefined) return;
      const call: RestCall = { method: 'GET', path: 'logout', timeoutMs: 1_000 };
      const url = new URL(`${LOGIN_PATH}admin/logout`, target.url);
      await send(call, url, { cookie: ended }, new AbortController().signal).catch(() => undefined);
    },
  };
};

type Send = (
  call: RestCall,
  url: URL,
  headers: Record<string, string>,
  signal: AbortSignal,
) => Promise<Answer>;

/** `sendOnce` leaves the count of losses as it is. */
type Sender = Pick<RestClient, 'losses' | 'unansweredSince'> & { sendOnce: Send; send: Send };

const createSender = (
  target: OpenwrtTarget,
  clock: Pick<Clock, 'monotonic' | 'after' | 'sleep'>,
): Sender => {
  const unanswered = createUnanswered(clock);
  let losses = 0;
  let lost = false;

  const sendOnce: Send = async (call, url, headers, signal) => {
    const attempted = attemptOf(call);
    // Read for each call, so a replaced CA takes effect at once.
    const ca = target.caFile === undefined ? undefined : await readText(target.caFile);
    try {
      return await exchange({
        method: call.method,
        url,
        headers,
        body: call.body,
        ca,
        serverName: target.serverName,
        maxBytes: MAX_ANSWER_BYTES,
        signal,
        timeoutMs: call.timeoutMs ?? CALL_TIMEOUT_MS,
        clock,
      });
    } catch (error) {
      signal.throwIfAborted();
      throw new OpenwrtUnreachableError(attempted, reasonOf(error), error);
    }
  };

  const send: Send = async (call, url, headers, signal) => {
    try {
      const once = (): Promise<Answer> => sendOnce(call, url, headers, signal);
      // Anything else is a change, and may reload a service.
      const answer = await (call.method === 'GET' ? unanswered.during(once) : once());
      if (lost) losses += 1;
      lost = false;
      return answer;
    } catch (error) {
      signal.throwIfAborted();
      lost = true;
      throw error;
    }
  };

  return { sendOnce, send, losses: () => losses, unansweredSince: unanswered.since };
};

/** A gateway without a server behind it is another matter. */
export const isOfTheMoment = ({ status }: Pick<Answer, 'status'>): boolean =>
  status >= 500 && status < 502;

/** @throws OpenwrtApiMissingError, OpenwrtUnreachableError */
const cookieIn = ({ status, headers }: Answer): string => {
  if (status === 404) throw new OpenwrtApiMissingError('log in to OpenWRT', 'it has no LuCI');
  if (status >= 500)
    throw new OpenwrtUnreachableError('log in to OpenWRT', `HTTP status ${status}`);
  if (status === 403) throw new OpenwrtLoginRefusedError();
  const given = headers['set-cookie']?.find((each) => /^sysauth\w*=[^;]+/.test(each));
  if (given === undefined) throw new OpenwrtLoginRefusedError(`HTTP status ${status}`);
  return given.split(';')[0] ?? '';
};

/** @throws OpenwrtError when the answer is not the one that the call is to have */
export const expectStatus = (call: RestCall, answer: RestAnswer, status: number): RestAnswer => {
  if (answer.status === status) return answer;
  throw new OpenwrtError(attemptOf(call), `HTTP status ${answer.status}: ${answer.message}`);
};

const attemptOf = ({ method, path }: RestCall): string => `ICN's REST API ${method} ${path}`;

const readAnswer = ({ status, body }: Answer): RestAnswer => {
  const text = body.toString('utf8');
  return { status, json: jsonIn(text), message: status < 400 ? '' : messageIn(text) };
};

const MAX_MESSAGE = 300;

/** Messages are not escaped, so they may be no JSON; Lua's and LuCI's own errors never are. */
export const messageIn = (text: string): string => {
  const message = /^\s*\{\s*"message"\s*:\s*"([\s\S]*)"\s*\}\s*$/.exec(text)?.[1] ?? text;
  const [line = ''] = message
    .replaceAll(/<[^<>]*>/g, ' ')
    .trim()
    .split('\n');
  return line.replaceAll(/\s+/g, ' ').slice(0, MAX_MESSAGE);
};
