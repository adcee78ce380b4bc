/** Init scripts that do nothing but count, as tests need them of mwan3 and ipsec. */
import type { Services } from '../services.ts';
import { complained, printed, type Program } from './runner.ts';

const ACTIONS = new Set(['start', 'stop', 'restart', 'reload', 'enable', 'disable']);

export const createInitScript =
  (service: string, services: Services): Program =>
  ({ name, params, by }) => {
    const action = params[0] ?? '';
    if (!ACTIONS.has(action)) return complained(1, `Syntax: ${name} [command]\n`);
    services.acted({ service, action, by, ok: true, stderr: '' });
    return printed('');
  };
