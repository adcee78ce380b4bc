/**
 * The control API of a simulator that runs as a process of its own: /_simulator/…, JSON unless said
 * otherwise.
 */
import * as z from 'zod';
import { toBytes, toText } from '../bytes.ts';
import { parseJson } from '../json.ts';
import type { Faults } from '../faults.ts';
import type { Fw4 } from '../programs/fw4.ts';
import type { Journal } from '../journal.ts';
import type { PolicyTables } from '../programs/policies.ts';
import type { Rpcd } from '../rpcd/rpcd.ts';
import { STATUS } from '../rpcd/bus.ts';
import type { Services } from '../services.ts';
import type { UciStore } from '../uci/store.ts';
import type { Answer, Request, Route } from '../uhttpd/server.ts';

export const CONTROL_PATH = '/_simulator';

export type ControlDeps = {
  journal: Journal;
  services: Services;
  faults: Faults;
  store: UciStore;
  rpcd: Rpcd;
  fw4: Fw4;
  policies: PolicyTables;
  /** Resets all connections but that one. */
  restart: (connection: object) => void;
};

const faultSchema = z.strictObject({
  object: z.string().exactOptional(),
  method: z.string().exactOptional(),
  contains: z.string().exactOptional(),
  times: z.int().positive().exactOptional(),
  skip: z.int().nonnegative().exactOptional(),
  when: z.enum(['before', 'after']).exactOptional(),
  action: z.discriminatedUnion('kind', [
    z.strictObject({ kind: z.literal('delay'), ms: z.number().nonnegative() }),
    z.strictObject({ kind: z.literal('hang') }),
    z.strictObject({
      kind: z.literal('error'),
      error: z.enum(['parse', 'method', 'params', 'object', 'access', 'timeout']),
    }),
    z.strictObject({
      kind: z.literal('status'),
      status: z.literal(Object.values(STATUS)),
    }),
    z.strictObject({
      kind: z.literal('http'),
      status: z.int(),
      body: z.string(),
      contentType: z.string().exactOptional(),
    }),
    z.strictObject({ kind: z.literal('reset') }),
    z.strictObject({ kind: z.literal('restart') }),
    z.strictObject({ kind: z.literal('rpcd dies') }),
  ]),
});

const MAX_CONTROL_BODY_BYTES = 16 * 1024 * 1024;

export const controlRoute = (deps: ControlDeps): Route => ({
  matches: (path) => path.startsWith(`${CONTROL_PATH}/`),
  maxBodyBytes: MAX_CONTROL_BODY_BYTES,
  answer: (request) => {
    try {
      return answer(deps, request);
    } catch (error) {
      return { status: 400, body: toBytes(`${String(error)}\n`), contentType: 'text/plain' };
    }
  },
});

const answer = (deps: ControlDeps, request: Request): Answer => {
  const path = request.path.slice(CONTROL_PATH.length);
  const packageName = /^\/config\/([\w-]+)$/.exec(path)?.[1];
  if (packageName !== undefined) return configAnswer(deps, request, packageName);
  switch (`${request.method} ${path}`) {
    case 'GET /state':
      return json({
        reloads: deps.services.counts(),
        firewall: deps.fw4.loaded,
        faults: deps.faults.list(),
        packages: deps.store.list(),
      });
    case 'GET /journal':
      return json(deps.journal.entries());
    case 'POST /faults':
      deps.faults.add(faultSchema.parse(parseJson(toText(request.body ?? ''))));
      return json({});
    case 'DELETE /faults':
      deps.faults.clear();
      return json({});
    case 'POST /restart':
      deps.restart(request.connection);
      return json({});
    case 'GET /policies':
      return json({ table: deps.policies.listed('sdewan_policy') });
    case 'POST /flush-ruleset':
      deps.fw4.nft.flush();
      deps.policies.flush();
      return json({});
    case 'POST /kill-rpcd':
      deps.rpcd.die('asked to');
      return json({});
    default:
      return { status: 404, body: 'Not Found\n', contentType: 'text/plain' };
  }
};

/** GET: the file as it is. PUT: replaces it, as an administrator would. */
const configAnswer = (deps: ControlDeps, request: Request, name: string): Answer => {
  if (request.method === 'PUT') {
    deps.store.replace(name, request.body ?? '', { call: 'administrator' });
    return json({});
  }
  const text = deps.store.text(name);
  return text === undefined
    ? { status: 404, body: 'Not Found\n', contentType: 'text/plain' }
    : { status: 200, body: text, contentType: 'text/plain; charset=utf-8' };
};

const json = (value: unknown): Answer => ({
  status: 200,
  body: toBytes(`${JSON.stringify(value)}\n`),
  contentType: 'application/json',
});
