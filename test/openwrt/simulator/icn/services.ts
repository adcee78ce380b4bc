/** v1/services and v1/service/<name>: actions of init scripts, whose failures are not reported. */
import type { Cause } from '../journal.ts';
import type { JsonObject } from '../json.ts';
import type { ProgramRunner } from '../programs/runner.ts';
import type { Services } from '../services.ts';
import { oneOf } from './checks.ts';
import { luaError } from './errors.ts';
import { validate, type Context, type Field } from './fields.ts';

export const SERVICES = ['mwan3', 'firewall', 'ipsec'] as const;

const FIELDS: readonly Field[] = [
  {
    name: 'action',
    check: oneOf('start', 'stop', 'restart', 'reload'),
    message: 'wrong action',
  },
];

export type ServiceDeps = { programs: ProgramRunner; services: Services };

/** @throws Refusal, LuaError */
export const actOnService = async (
  { programs, services }: ServiceDeps,
  service: string,
  { body, context }: { body: JsonObject; context: Context },
): Promise<void> => {
  const { action } = validate(FIELDS, body, context);
  if (typeof action !== 'string')
    throw luaError('service.lua:74', "attempt to concatenate local 'action' (a nil value)");
  const script = programs.find(`/etc/init.d/${service}`);
  const before = services.counts()[service];
  if (service === 'firewall') context.kernel.firewall(action);
  const command = service !== 'firewall' && action === 'reload' ? 'restart' : action;
  if (script !== undefined) await programs.run(script, [command], context.by);
  if (services.counts()[service] === before) countRefused(services, service, command, context.by);
};

/** A script that refuses the action has run all the same. */
const countRefused = (services: Services, service: string, action: string, by: Cause): void =>
  services.acted({ service, action, by, ok: false, stderr: '' });
