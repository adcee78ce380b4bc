/** Init scripts that take their time and count, as tests need them of mwan3 and ipsec. */
import type { Clock } from '../clock.ts';
import type { Services } from '../services.ts';
import { complained, printed, type Program } from './runner.ts';

const ACTIONS = new Set(['start', 'stop', 'restart', 'reload', 'enable', 'disable']);

export type InitScriptDeps = {
  services: Services;
  clock: Clock;
  /** Milliseconds of each action. */
  takesMs: number;
  /** What it does to the kernel. */
  acts?: (action: string) => void;
};

export const createInitScript =
  (service: string, { services, clock, takesMs, acts }: InitScriptDeps): Program =>
  async ({ name, params, by, signal }) => {
    const action = params[0] ?? '';
    if (!ACTIONS.has(action)) return complained(1, `Syntax: ${name} [command]\n`);
    if (takesMs > 0) await clock.wait(takesMs, signal);
    acts?.(action);
    services.acted({ service, action, by, ok: true, stderr: '' });
    return printed('');
  };
