/** The ubus driver against the simulator: what it writes, and what it leaves when something goes wrong in between. */
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import type { UciSection } from '#shared/uci/model.ts';
import type { Driver } from '../../agent/openwrt/driver.ts';
import { createUbusDriver } from '../../agent/openwrt/ubus.ts';
import { startOpenwrt, type TestOpenwrt } from './support/openwrt.ts';

const signal = new AbortController().signal;

let openwrt: TestOpenwrt;
let driver: Driver;

const rule = (name: string, options: UciSection['options'] = {}): UciSection => ({
  name: `sdewan_rule_${name}`,
  anonymous: false,
  type: 'rule',
  options: { name, src: 'lan', proto: 'tcp', dest_port: '80', target: 'REJECT', ...options },
});
const append = (...sections: UciSection[]) => ({
  package: 'firewall',
  remove: [],
  set: [],
  append: sections,
});
const newDriver = (): Driver =>
  createUbusDriver({
    packages: ['firewall', 'mwan3'],
    target: {
      url: openwrt.simulator.url,
      usernameFile: openwrt.usernameFile,
      passwordFile: openwrt.passwordFile,
    },
  });

beforeEach(async () => {
  openwrt = await startOpenwrt();
  driver = newDriver();
});

afterEach(async () => {
  await driver.close();
  await openwrt.stop();
});

describe('ubus driver', () => {
  it('appends a section in one transaction with one reload, and leaves the rest as it was', async () => {
    const before = openwrt.text('mwan3');
    await driver.read(signal);
    const result = await driver.apply([append(rule('a'))], signal);
    expect(result.outcome).toBe('done');
    expect(openwrt.text('firewall')).toContain("config rule 'sdewan_rule_a'");
    expect(openwrt.text('mwan3')).toBe(before);
    expect(openwrt.simulator.reloads()).toEqual({ firewall: 1 });
    expect(openwrt.writes('uci apply')).toBe(1);
  });

  it('tells its own result from a foreign change by the fingerprint', async () => {
    await driver.read(signal);
    const result = await driver.apply([append(rule('a'))], signal);
    const left = result.outcome === 'done' ? result.fingerprint : '';
    expect(await driver.fingerprint(signal)).toBe(left);
    openwrt.write('firewall', `${openwrt.text('firewall')}\nconfig rule 'x'\n`);
    expect(await driver.fingerprint(signal)).not.toBe(left);
  });
});
