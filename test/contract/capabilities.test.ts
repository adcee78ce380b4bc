/**
 * What an OpenWRT can do, found out over ubus with either login; measured on real devices
 * (docs/drivers.md#what-an-openwrt-can-do).
 */
import { rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterEach, expect, it } from 'vitest';
import type { Capabilities } from '#shared/resources/capabilities.ts';
import { startOpenwrt, type OpenwrtOptions, type TestOpenwrt } from './agent/support/openwrt.ts';
import { ubusDriver } from './agent/support/pass.ts';

const NEVER = new AbortController().signal;
const FW3 = '#!/bin/sh /etc/rc.common\nreload() { fw3 reload; }\n';

let openwrt: TestOpenwrt;
afterEach(() => openwrt.stop());

const start = async (options: OpenwrtOptions = {}): Promise<void> => {
  openwrt = await startOpenwrt(options);
};
const onDevice = (path: string): string => join(openwrt.simulator.rootDirectory, path);

const found = async (): Promise<Capabilities> => {
  const driver = ubusDriver(openwrt, ['firewall', 'mwan3', 'ipsec']);
  const { capabilities } = await driver.read(NEVER);
  await driver.close();
  return capabilities;
};

it('is read from its init scripts', async () => {
  await start();
  expect(await found()).toEqual({
    dialect: 'uci',
    firewall: 'fw4',
    sets: true,
    ipsec: { dialect: 'classic', settings: 'last', noCertificates: undefined },
    mwan3: true,
  });
});

it('has another IPsec dialect with swanctl', async () => {
  await start({ ipsecScript: 'swanctl-globals' });
  expect(await found()).toMatchObject({ ipsec: { dialect: 'swanctl', settings: 'globals' } });
});

it('has no mwan3 without its script, and no sets with firewall3', async () => {
  await start();
  rmSync(onDevice('/etc/init.d/mwan3'));
  writeFileSync(onDevice('/etc/init.d/firewall'), FW3);
  expect(await found()).toMatchObject({ firewall: 'fw3', sets: false, mwan3: false });
});

it('is the usual where the login may not read the scripts', async () => {
  await start({ login: 'stock' });
  rmSync(onDevice('/etc/init.d/mwan3'));
  writeFileSync(onDevice('/etc/init.d/firewall'), FW3);
  const { ipsec, ...others } = await found();
  expect(others).toMatchObject({ dialect: 'uci', firewall: 'fw4', sets: true });
  expect(ipsec).toMatchObject({ dialect: 'classic', settings: 'last' });
  expect(ipsec.noCertificates).toMatch(/may not read/);
});
