/** The `fw4` command: what `reload` and `check` print and change. */
import type { Clock } from '../clock.ts';
import type { Services } from '../services.ts';
import { UciError } from '../uci/errors.ts';
import type { UciPackage } from '../uci/package.ts';
import type { UciStore } from '../uci/store.ts';
import type { DeviceRoot } from '../root.ts';
import { complained, printed, type Program } from './runner.ts';
import { SHELL_STAGING } from './uci.ts';

export type Fw4Deps = {
  root: DeviceRoot;
  store: UciStore;
  services: Services;
  clock: Clock;
  /** Milliseconds that a reload takes for each rule; measured: 0.6 for named sections. */
  reloadMsPerRule: number;
};

export const createFw4 =
  (deps: Fw4Deps): Program =>
  async ({ params, by, signal }) => {
    const action = params.filter((param) => param !== '-q').join(' ');
    if (action === 'check') return printed('Ruleset passes nftables check.\n');
    if (action !== 'reload' && action !== 'restart') return complained(1, 'Usage: fw4 reload\n');
    const rules = loadFirewall(deps)?.sections.length ?? 0;
    if (deps.reloadMsPerRule > 0) await deps.clock.wait(rules * deps.reloadMsPerRule, signal);
    deps.services.acted({ service: 'firewall', action, by, ok: true, stderr: '' });
    return printed('');
  };

const loadFirewall = ({ root, store }: Fw4Deps): UciPackage | undefined => {
  try {
    return store.load('firewall', root.path(SHELL_STAGING)).package;
  } catch (error) {
    if (error instanceof UciError) return undefined;
    throw error;
  }
};
