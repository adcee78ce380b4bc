/** The route /ubus: HTTP around the JSON-RPC, and the faults that tests put into single calls. */
import type { Clock } from '../clock.ts';
import type { Fault, Faults } from '../faults.ts';
import type { Journal } from '../journal.ts';
import type { Bus, Reply } from '../rpcd/bus.ts';
import type { Rpcd } from '../rpcd/rpcd.ts';
import { NO_SESSION } from '../rpcd/sessions.ts';
import {
  answerBody,
  answerRest,
  errorAnswer,
  type JsonRpcDeps,
  type RpcError,
  type UbusCall,
} from './json-rpc.ts';
import { MAX_UBUS_BODY_BYTES, type Answer, type Request, type Route } from './server.ts';

/** Milliseconds after which uhttpd gives up on ubus. */
export const SCRIPT_TIMEOUT_MS = 60_000;

export type UbusRouteDeps = {
  bus: Bus;
  rpcd: Rpcd;
  clock: Clock;
  faults: Faults;
  journal: Journal;
  restart: () => void;
};

/** A fault that leaves the HTTP request without a proper answer. */
class Broken extends Error {
  readonly answer: 'reset' | 'hang';
  constructor(answer: 'reset' | 'hang') {
    super(answer);
    this.answer = answer;
  }
}

export const ubusRoute = (deps: UbusRouteDeps): Route => {
  const rpc: JsonRpcDeps = {
    bus: deps.bus,
    allows: ({ session, object, method }) => deps.rpcd.allowsCall(session, { object, method }),
    invoke: (call) => invoke(deps, call),
  };
  return {
    matches: (path) => path === '/ubus' || path.startsWith('/ubus/'),
    maxBodyBytes: MAX_UBUS_BODY_BYTES,
    answer: async (request) => {
      try {
        return await answer(rpc, request);
      } catch (error) {
        if (error instanceof Broken) return error.answer;
        throw error;
      }
    },
  };
};

const answer = async (rpc: JsonRpcDeps, request: Request): Promise<Answer> => {
  if (request.method === 'OPTIONS') return json('');
  if (request.method === 'GET') return { status: 404, body: '' };
  if (request.method !== 'POST')
    return {
      status: 400,
      body: '<h1>Bad Request</h1>Invalid Request',
      contentType: 'text/html',
    };
  if (request.body === undefined) return json(errorAnswer(null, 'parse'));
  if (/^\/ubus\/?$/.test(request.path)) return json(await answerBody(rpc, request.body));
  const object = /^\/ubus\/call\/(.+)$/.exec(request.path)?.[1];
  if (object === undefined) return { status: 404, body: '' };
  const session = /^bearer (.*)$/i.exec(request.headers.authorization ?? '')?.[1] ?? NO_SESSION;
  return json(await answerRest(rpc, { session, object }, request.body));
};

const json = (body: string): Answer => ({ status: 200, body, contentType: 'application/json' });

const invoke = async (
  deps: UbusRouteDeps,
  call: UbusCall,
): Promise<Reply | { error: RpcError }> => {
  const instead = await strike(deps, call, 'before');
  if (instead) return instead;
  const { session, object, method, args } = call;
  const reply = await deps.rpcd.call({ object, method }, args, { session });
  const changed = await strike(deps, call, 'after');
  if (changed) return changed;
  if (reply !== 'died') return reply;
  await deps.clock.wait(SCRIPT_TIMEOUT_MS);
  return { error: 'timeout' };
};

const strike = async (
  deps: UbusRouteDeps,
  call: UbusCall,
  when: 'before' | 'after',
): Promise<Reply | { error: RpcError } | undefined> => {
  const action = deps.faults.take({ ...call, when })?.action;
  if (!action) return undefined;
  deps.journal.add({ event: 'fault', call: `${call.object} ${call.method}`, action: action.kind });
  return carryOut(deps, action);
};

const carryOut = async (
  deps: UbusRouteDeps,
  action: Fault['action'],
): Promise<Reply | { error: RpcError } | undefined> => {
  if (action.kind === 'error') return { error: action.error };
  if (action.kind === 'status') return { status: action.status };
  if (action.kind === 'http') return { error: 'parse' };
  if (action.kind === 'delay') {
    await deps.clock.wait(action.ms);
    return undefined;
  }
  if (action.kind === 'rpcd dies') {
    deps.rpcd.die('fault');
    await deps.clock.wait(SCRIPT_TIMEOUT_MS);
    return { error: 'timeout' };
  }
  if (action.kind === 'restart') deps.restart();
  throw new Broken(action.kind === 'hang' ? 'hang' : 'reset');
};
