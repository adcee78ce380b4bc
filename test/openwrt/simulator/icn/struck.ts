/** The faults that tests put into calls of REST and of LuCI's login. */
import type { Clock } from '../clock.ts';
import type { Fault, Faults } from '../faults.ts';
import type { Journal } from '../journal.ts';
import type { Rpcd } from '../rpcd/rpcd.ts';
import type { Answer, Request } from '../uhttpd/server.ts';

export type StruckDeps = {
  faults: Faults;
  journal: Journal;
  clock: Clock;
  rpcd: Rpcd;
  restart: () => void;
};

/** The answer, or what a fault makes of it. */
export const struck = async (
  deps: StruckDeps,
  object: 'rest' | 'luci',
  request: Request,
  answer: () => Promise<Answer>,
): Promise<Answer> => {
  const call = { object, method: request.method, args: [request.path, request.body ?? ''] };
  const instead = await carryOut(deps, deps.faults.take({ ...call, when: 'before' }), request);
  if (instead) return instead;
  const given = await answer();
  return (await carryOut(deps, deps.faults.take({ ...call, when: 'after' }), request)) ?? given;
};

const carryOut = async (
  { journal, clock, rpcd, restart }: StruckDeps,
  fault: Fault | undefined,
  { method, path }: Request,
): Promise<Answer | undefined> => {
  if (!fault) return undefined;
  const { action } = fault;
  journal.add({ event: 'fault', call: `${method} ${path}`, action: action.kind });
  if (action.kind === 'delay') {
    await clock.wait(action.ms);
    return undefined;
  }
  if (action.kind === 'hang') return 'hang';
  if (action.kind === 'http') {
    const { status, body, contentType = 'text/plain' } = action;
    return { status, body, contentType };
  }
  if (action.kind === 'restart') restart();
  if (action.kind === 'rpcd dies') rpcd.die('fault');
  return 'reset';
};
