/** Targets on the simulator. */
import { readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { systemClock } from '#shared/runtime/clock.ts';
import { silentLogger } from '#shared/runtime/log.ts';
import type { Driver } from '../../../agent/openwrt/driver.ts';
import { createUbusDriver } from '../../../agent/openwrt/ubus.ts';
import { readUci } from '../../judge/uci.ts';
import { startOpenwrt, type OpenwrtOptions } from '../../integration/support/openwrt.ts';
import { PACKAGES } from '../../integration/support/pass.ts';
import type { Target } from './target.ts';

export type DriverAt = { url: string; usernameFile: string; passwordFile: string };

export const ubusDriver = (target: DriverAt): Driver =>
  createUbusDriver({ packages: PACKAGES, target, clock: systemClock, log: silentLogger });

/** Nothing listens there: the port is reserved. */
const NOWHERE = 'http://127.0.0.1:1';

export const simulated = async (
  createDriver: (at: DriverAt) => Driver,
  options: OpenwrtOptions = {},
): Promise<Target> => {
  const openwrt = await startOpenwrt(options);
  const { simulator, folder, usernameFile, passwordFile } = openwrt;
  const drivers: Driver[] = [];
  const open = (at: DriverAt): Driver => {
    const driver = createDriver(at);
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
    sections: async (name) => readUci(text(name)),
    hands: {
      text,
      write: (name, content) => writeFileSync(pathOf(name), content),
      remove: (name) => rmSync(pathOf(name)),
      restart: simulator.restart,
      serviceActions: simulator.reloads,
    },
    leave: async () => {
      await Promise.all(drivers.map((driver) => driver.close()));
      await openwrt.stop();
    },
  };
};
