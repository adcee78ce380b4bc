/**
 * REST below /cgi-bin/luci/sdewan/: paths, verbs and bodies. It asks for no session: LuCI serves
 * these nodes to all.
 */
import { toBytes, toText } from '../bytes.ts';
import { convertStrings, isObject, type Json, type JsonObject } from '../json.ts';
import type { Bus } from '../rpcd/bus.ts';
import type { Answer, Request } from '../uhttpd/server.ts';
import { drop, get, list, post, put, unknownCollection, type Collection } from './collection.ts';
import { LuaError, luaError, Refusal } from './errors.ts';
import type { Context } from './fields.ts';
import { FORWARDINGS, REDIRECTS, RULES, ZONES } from './firewall.ts';
import { PROPOSALS } from './ipsec-proposals.ts';
import { REMOTES } from './ipsec-remotes.ts';
import { MWAN3_RULES, POLICIES } from './mwan3.ts';
import { NATS } from './nat.ts';
import { NETWORK_RULES } from './network-rules.ts';
import { APPLICATIONS, ROUTES, ROUTE_RULES } from './routes.ts';
import { notFound } from './login.ts';
import { statusOf } from './status.ts';
import { actOnService, SERVICES, type ServiceDeps } from './services.ts';

export const REST_PATH = '/cgi-bin/luci/sdewan';
/** LuCI cuts a body off there. */
const MAX_BODY_BYTES = 102_400;

const COLLECTIONS: Readonly<Record<string, readonly Collection[]>> = {
  firewall: [ZONES, RULES, REDIRECTS, FORWARDINGS],
  mwan3: [POLICIES, MWAN3_RULES],
  ipsec: [PROPOSALS, REMOTES],
  networkfirewall: [NETWORK_RULES],
  nat: [NATS],
  route: [ROUTES],
  rule: [ROUTE_RULES],
  application: [APPLICATIONS],
};

export type RestDeps = ServiceDeps & {
  bus: Bus;
  contextOf: (request: Request) => Context;
};

export const answerRest = async (deps: RestDeps, request: Request): Promise<Answer> => {
  try {
    return await dispatch(deps, request);
  } catch (error) {
    if (error instanceof LuaError)
      return { status: 500, body: `${error.message}\n`, contentType: 'text/plain' };
    if (error instanceof Refusal) return message(error.status, error.message);
    throw error;
  }
};

const dispatch = async (deps: RestDeps, request: Request): Promise<Answer> => {
  const context = deps.contextOf(request);
  const [first = '', second, ...rest] = request.path
    .slice(REST_PATH.length)
    .split('/')
    .filter((part) => part !== '');
  if (first === 'v1') return answerDevice(deps, request, { parts: [second, ...rest], context });
  const collections = COLLECTIONS[first];
  if (!collections || second !== 'v1') return notFound(request.path);
  if (rest.length === 0) return help();
  const collection = collections.find(({ key }) => key === rest[0]);
  if (!collection) return notFound(request.path);
  return answerCollection(collection, request, { names: rest.slice(1), context });
};

const answerDevice = async (
  deps: RestDeps,
  request: Request,
  { parts, context }: { parts: readonly (string | undefined)[]; context: Context },
): Promise<Answer> => {
  const [kind, name, ...rest] = parts;
  if (kind === undefined) return help();
  if (kind === 'services' && name === undefined) {
    if (request.method !== 'GET') throw methodNotAllowed();
    return json(200, { services: SERVICES });
  }
  if (kind === 'status') {
    if (request.method !== 'GET') throw methodNotAllowed();
    if (rest.length > 0) throw badUri();
    return json(200, await statusOf(name, context, deps.bus));
  }
  if (kind !== 'service') return notFound(request.path);
  if (request.method !== 'PUT') throw methodNotAllowed();
  const service = SERVICES.find((one) => one === name);
  if (service === undefined || rest.length > 0) throw badUri();
  await actOnService(deps, service, { body: bodyOf(request), context });
  return success();
};

const answerCollection = (
  collection: Collection,
  request: Request,
  { names, context }: { names: readonly string[]; context: Context },
): Answer => {
  const verb = VERBS[request.method];
  if (!verb) throw methodNotAllowed();
  const query = request.query.size === 0 ? '' : `?${request.query.toString()}`;
  if (names.length === 0 && query !== '') throw unknownCollection();
  if (names.length > 1) throw badUri();
  const name = names[0] === undefined ? undefined : names[0] + query;
  return verb(collection, name, { request, context });
};

type Verb = (
  collection: Collection,
  name: string | undefined,
  call: { request: Request; context: Context },
) => Answer;

const VERBS: Readonly<Record<string, Verb>> = {
  GET: (collection, name, { context }) =>
    json(200, name === undefined ? list(collection, context) : get(collection, name, context)),
  POST: (collection, name, { request, context }) => {
    if (name !== undefined) throw badUri();
    return json(201, post(collection, bodyOf(request), context));
  },
  PUT: (collection, name, { request, context }) => {
    if (name === undefined) throw badUri();
    return json(200, put(collection, name, { body: bodyOf(request), context }));
  },
  DELETE: (collection, name, { context }) => {
    if (name === undefined) throw badUri();
    drop(collection, name, context);
    return success();
  },
};

/** Anything but an object counts as an empty one. @throws Refusal, LuaError */
const bodyOf = ({ headers, body = '' }: Request): JsonObject => {
  if (headers['content-type']?.startsWith('application/x-www-form-urlencoded'))
    throw luaError('utils.lua:776', "bad argument #1 to 'parse' (string expected, got nil)");
  const value = parse(body.slice(0, MAX_BODY_BYTES));
  const bytes = convertStrings(value, toBytes);
  return isObject(bytes) ? bytes : {};
};

/** The parser waits for more after a bare number. */
const parse = (body: string): Json => {
  try {
    const value: Json = JSON.parse(toText(body));
    if (typeof value !== 'number') return value;
  } catch (error) {
    const isCut = /end of JSON|Unterminated/.test(String(error));
    if (!isCut) throw new Refusal(400, 'Body parse error: unexpected character');
  }
  throw new Refusal(400, 'Body parse error: unexpected end of data');
};

const badUri = (): Refusal => new Refusal(400, 'Bad request URI');
const methodNotAllowed = (): Refusal => new Refusal(405, 'Method Not Allowed');

const json = (status: number, value: Json): Answer => ({
  status,
  // LuCI gives its 201 no reason phrase.
  reason: status === 201 ? '' : 'OK',
  body: JSON.stringify(value).replaceAll('/', '\\/'),
  contentType: 'application/json',
});

const message = (status: number, text: string, reason = text): Answer => ({
  status,
  reason,
  body: `{"message":"${text}"}`,
  contentType: 'text/plain',
});

const success = (): Answer => message(200, 'success', 'OK');
const help = (): Answer => json(200, { message: 'sdewan restful API service v1' });
