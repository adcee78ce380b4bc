/**
 * uhttpd's JSON-RPC over ubus: what it takes for a request, its error codes, batches. Works on byte
 * strings.
 */
import { toBytes, toText } from '../bytes.ts';
import {
  convertStrings,
  isArray,
  isObject,
  parseJson,
  stringsOf,
  type Json,
  type JsonObject,
} from '../json.ts';
import { STATUS, type Bus, type Reply } from '../rpcd/bus.ts';

const ERRORS = {
  parse: [-32700, 'Parse error'],
  method: [-32601, 'Method not found'],
  params: [-32602, 'Invalid parameters'],
  object: [-32000, 'Object not found'],
  access: [-32002, 'Access denied'],
  timeout: [-32003, 'ubus request timed out'],
} as const;

export type RpcError = keyof typeof ERRORS;

export type UbusCall = { session: string; object: string; method: string; args: JsonObject };

export type JsonRpcDeps = {
  bus: Bus;
  allows: (call: UbusCall) => boolean;
  /** The reply of ubus, or the error that uhttpd answers instead. */
  invoke: (call: UbusCall) => Promise<Reply | { error: RpcError }>;
};

/** The body of the answer to a POST at /ubus. */
export const answerBody = async (deps: JsonRpcDeps, body: string): Promise<string> => {
  const request = firstJsonValue(body);
  if (isArray(request)) {
    const answers: string[] = [];
    for (const entry of request) answers.push(await answerOne(deps, entry));
    return `[${answers.join(',')}]`;
  }
  return answerOne(deps, request);
};

/**
 * The body of the answer to a POST at /ubus/call/<object>, where the session comes from the
 * Authorization header.
 */
export const answerRest = async (
  deps: JsonRpcDeps,
  target: { session: string; object: string },
  body: string,
): Promise<string> => {
  const request = firstJsonValue(body);
  if (!isRequest(request)) return errorAnswer(idOf(request), 'parse');
  const args = isObject(request['params']) ? request['params'] : {};
  const outcome = await invoke(deps, { ...target, method: request['method'], args });
  if ('error' in outcome) return errorAnswer(idOf(request), outcome.error);
  if (outcome.status === STATUS.ok) return answer(idOf(request), { result: outcome.data ?? null });
  return answer(idOf(request), { error: { code: outcome.status, message: 'ubus error' } });
};

export const errorAnswer = (id: Json, error: RpcError): string => {
  const [code, message] = ERRORS[error];
  return answer(id, { error: { code, message } });
};

const answerOne = async (deps: JsonRpcDeps, request: Json | undefined): Promise<string> => {
  const id = idOf(request);
  if (!isRequest(request)) return errorAnswer(id, 'parse');
  if (request['method'] === 'list')
    return answer(id, { result: list(deps.bus, request['params']) });
  if (request['method'] !== 'call') return errorAnswer(id, 'method');
  const call = callOf(request['params']);
  if (!call) return errorAnswer(id, 'parse');
  const outcome = await invoke(deps, call);
  if ('error' in outcome) return errorAnswer(id, outcome.error);
  const { status, data } = outcome;
  return answer(id, { result: data === undefined ? [status] : [status, data] });
};

const invoke = async (deps: JsonRpcDeps, call: UbusCall): Promise<Reply | { error: RpcError }> => {
  if (!deps.bus.has(call.object)) return { error: 'object' };
  if (!deps.allows(call)) return { error: 'access' };
  if (Object.hasOwn(call.args, 'ubus_rpc_session')) return { error: 'params' };
  return deps.invoke({ ...call, args: { ...call.args, ubus_rpc_session: call.session } });
};

const list = (bus: Bus, params: Json | undefined): Json =>
  isArray(params)
    ? Object.fromEntries(stringsOf(params).flatMap((pattern) => bus.signatures(pattern)))
    : bus.names();

const callOf = (params: Json | undefined): UbusCall | undefined => {
  if (!isArray(params)) return undefined;
  const [session, object, method, args] = params;
  if (typeof session !== 'string' || typeof object !== 'string' || typeof method !== 'string')
    return undefined;
  return isObject(args) ? { session, object, method, args } : undefined;
};

const answer = (id: Json, rest: { readonly [key: string]: Json }): string =>
  JSON.stringify({ jsonrpc: '2.0', id, ...rest });

const idOf = (request: Json | undefined): Json =>
  isObject(request) ? (request['id'] ?? null) : null;

const isRequest = (request: Json | undefined): request is JsonObject & { method: string } =>
  isObject(request) && request['jsonrpc'] === '2.0' && typeof request['method'] === 'string';

/**
 * uhttpd stops reading at the end of the first value: what follows is ignored. Undefined for
 * anything but an object or array.
 */
const firstJsonValue = (body: string): Json | undefined => {
  const text = toText(body);
  const value = parseJson(text) ?? parseJson(text.slice(0, endOfValue(text)));
  return isArray(value) || isObject(value) ? convertStrings(value, toBytes) : undefined;
};

const endOfValue = (text: string): number => {
  let depth = 0;
  for (const token of text.matchAll(/"(?:[^"\\]|\\.)*"|[[\]{}]/gs)) {
    if (token[0] === '{' || token[0] === '[') depth += 1;
    if (token[0] === '}' || token[0] === ']') depth -= 1;
    if (depth === 0) return token.index + token[0].length;
  }
  return text.length;
};
