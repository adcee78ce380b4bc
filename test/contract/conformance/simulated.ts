/** Targets on the simulator. */
import { readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import type { Clock } from '#shared/runtime/clock.ts';
import { silentLogger } from '#shared/runtime/log.ts';
import type { OpenwrtTarget } from '../../../agent/openwrt/ubus/login/credentials.ts';
import type { Driver } from '../../../agent/openwrt/driver.ts';
import { createIcnDriver } from '../../../agent/openwrt/icn/driver.ts';
import { createUbusDriver } from '../../../agent/openwrt/ubus/driver.ts';
import { unconfirmedInMemory } from '../../../agent/openwrt/ubus/write/testing.ts';
import { readUci, type DeviceSection } from '../../openwrt/checks/uci.ts';
import { startOpenwrt, type OpenwrtOptions } from '../agent/support/openwrt.ts';
import { PACKAGES } from '../agent/support/pass.ts';
import { timed } from '../agent/support/time.ts';
import { icnView } from './icn-view.ts';
import type { Target } from './target.ts';

/** One of the APIs, with the eyes for what it keeps in /etc/config. */
type Api = {
  driver: (at: OpenwrtTarget, clock: Clock) => Driver;
  /** The sections of a package as its driver names it; `read`: those of a file. */
  view: (packageName: string, read: (file: string) => DeviceSection[]) => DeviceSection[];
};

export const ubusDriver = (target: OpenwrtTarget, clock: Clock): Driver =>
  createUbusDriver({
    packages: PACKAGES,
    unconfirmed: unconfirmedInMemory(),
    target,
    clock,
    log: silentLogger,
  });

export const ubus: Api = { driver: ubusDriver, view: (name, read) => read(name) };

export const icn: Api = {
  driver: (target, clock) => createIcnDriver({ target, reassertMs: 0, clock }),
  view: icnView,
};

/** A reload by procd, of the few rules here, is over by then. */
const PROCD_MS = 1_000;

/** Nothing listens there: the port is reserved. */
const NOWHERE = 'http://127.0.0.1:1';

export const simulated = async (api: Api, options: OpenwrtOptions = {}): Promise<Target> => {
  const openwrt = await startOpenwrt(options);
  const { simulator, clock, folder, usernameFile, passwordFile } = openwrt;
  const drivers: Driver[] = [];
  const open = (at: OpenwrtTarget): Driver => {
    const driver = timed(api.driver(at, clock.agent), clock);
    drivers.push(driver);
    return driver;
  };
  const pathOf = (name: string): string => join(simulator.configDirectory, name);
  const text = (name: string): string => readFileSync(pathOf(name), 'utf8');
  return {
    driver: () => open({ url: simulator.url, usernameFile, passwordFile }),
    lost: (why) => {
      const wrong = join(folder, 'wrong-password');
      writeFileSync(wrong, 'not this one');
      return why === 'address'
        ? open({ url: NOWHERE, usernameFile, passwordFile })
        : open({ url: simulator.url, usernameFile, passwordFile: wrong });
    },
    sections: async (name) => api.view(name, (file) => readUci(text(file))),
    hands: {
      text,
      write: (name, content) => writeFileSync(pathOf(name), content),
      remove: (name) => rmSync(pathOf(name)),
      restart: simulator.restart,
      serviceActions: async () => {
        await clock.advance(PROCD_MS);
        return simulator.reloads();
      },
    },
    leave: async () => {
      await Promise.all(drivers.map((driver) => driver.close()));
      await openwrt.stop();
    },
  };
};
