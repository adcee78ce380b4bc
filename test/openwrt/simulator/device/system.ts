/** The ubus objects of procd and rpcd-mod-rc: system, service, rc. */
import type { Clock } from '../clock.ts';
import type { JsonObject } from '../json.ts';
import type { ProgramRunner } from '../programs/runner.ts';
import { STATUS, failed, ok, type BusObject } from '../rpcd/bus.ts';
import type { UciStore } from '../uci/store.ts';

/** The init scripts that the device has, in the order that `rc list` shows them. */
export const INIT_SCRIPTS: Readonly<Record<string, JsonObject>> = {
  mwan3: { start: 19, enabled: true },
  network: { start: 20, enabled: true },
  uhttpd: { start: 50, enabled: true },
  ipsec: { start: 90, enabled: true },
  firewall: { start: 19, enabled: true, running: true },
  rpcd: { start: 12, enabled: true },
};

/** The file of a package that an image need not have. */
export const KEEPALIVED_SCRIPT = { keepalived: { start: 70, enabled: true, running: true } };

const RC_ACTIONS = new Set(['disable', 'enable', 'stop', 'start', 'restart', 'reload']);

export const createSystemObject = (clock: Clock): BusObject => ({
  board: {
    arguments: {},
    call: () =>
      ok({
        kernel: '6.12.0',
        hostname: 'OpenWrt',
        system: 'simulator x86_64',
        model: 'simulator',
        board_name: 'simulator',
        release: {
          distribution: 'OpenWrt',
          version: '24.10.0',
          revision: 'simulator',
          target: 'x86/64',
          description: 'OpenWrt simulator',
        },
      }),
  },
  info: {
    arguments: {},
    call: () =>
      ok({
        localtime: Math.floor(Date.now() / 1000),
        uptime: Math.floor(clock.nowMs() / 1000),
        load: [0, 0, 0],
        memory: { total: 268_435_456, free: 134_217_728 },
      }),
  },
});

export const createServiceObject = (store: UciStore): BusObject => ({
  list: {
    arguments: { name: 'string', verbose: 'boolean' },
    call: () =>
      ok({
        firewall: {},
        mwan3: {},
        ipsec: {},
        network: {},
        rpcd: {},
        uhttpd: {},
        ...(hasKeepalived(store) && { keepalived: {} }),
      }),
  },
});

const hasKeepalived = (store: UciStore): boolean => store.text('keepalived') !== undefined;

export const createRcObject = (programs: ProgramRunner, store: UciStore): BusObject => ({
  list: {
    arguments: { name: 'string', skip_running_check: 'boolean' },
    call: () => ok({ ...INIT_SCRIPTS, ...(hasKeepalived(store) && KEEPALIVED_SCRIPT) }),
  },
  init: {
    arguments: { name: 'string', action: 'string' },
    call: async (args, caller) => {
      const [name, action] = [args.text('name'), args.text('action')];
      if (name === undefined || action === undefined) return failed(STATUS.invalidArgument);
      const program = programs.find(`/etc/init.d/${name}`);
      if (program === undefined) return failed(STATUS.notFound);
      if (!RC_ACTIONS.has(action)) return failed(STATUS.invalidArgument);
      await programs.run(program, [action], { call: 'rc init', session: caller.session });
      return ok();
    },
  },
});
