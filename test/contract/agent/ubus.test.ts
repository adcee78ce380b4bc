/**
 * The ubus driver against the simulator: what it writes, and what it leaves when something goes
 * wrong in between.
 */
import { join } from 'node:path';
import { inspect } from 'node:util';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import type { UciSection } from '#shared/uci/model.ts';
import { writeFileSync } from 'node:fs';
import {
  OpenwrtError,
  OpenwrtUnreachableError,
  type Driver,
} from '../../../agent/openwrt/driver.ts';
import { createCa, issueServing } from '../../../coordinator/controllers/certificates/x509.ts';
import { readUci } from '../../openwrt/checks/uci.ts';
import { startOpenwrt, type TestOpenwrt } from './support/openwrt.ts';
import { ubusDriver } from './support/pass.ts';

const signal = new AbortController().signal;
const UNTIL_RPCD_IS_BACK_MS = 5_000;

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
beforeEach(async () => {
  openwrt = await startOpenwrt();
  driver = ubusDriver(openwrt, ['firewall', 'mwan3']);
});

afterEach(async () => {
  await driver.close();
  await openwrt.stop();
});

describe('a change', () => {
  it('is one transaction with one reload, and leaves the rest as it was', async () => {
    const before = openwrt.text('mwan3');
    await driver.read(signal);
    const result = await driver.apply([append(rule('a'))], signal);
    expect(result.outcome).toBe('done');
    expect(openwrt.text('firewall')).toContain("config rule 'sdewan_rule_a'");
    expect(openwrt.text('mwan3')).toBe(before);
    expect(openwrt.simulator.reloads()).toEqual({ firewall: 1 });
    expect(openwrt.writes('uci apply')).toBe(1);
  });

  it('is rolled back with everything else when its section is not stored as it was sent', async () => {
    const before = openwrt.text('firewall');
    await driver.read(signal);
    openwrt.simulator.faults.add({
      object: 'file',
      method: 'write',
      times: 1,
      action: { kind: 'status', status: 0 },
    });
    const result = await driver.apply([append(rule('a'))], signal);
    expect(result).toMatchObject({ outcome: 'rejected', sections: ['sdewan_rule_a'] });
    expect(openwrt.sections('firewall')).toEqual(readUci(before));
  });
});

describe('the fingerprint', () => {
  it('distinguishes the result of a change from what others did', async () => {
    await driver.read(signal);
    const result = await driver.apply([append(rule('a'))], signal);
    const left = result.outcome === 'done' ? result.fingerprint : '';
    expect(await driver.fingerprint(signal)).toBe(left);
    openwrt.write('firewall', `${openwrt.text('firewall')}\nconfig rule 'x'\n`);
    expect(await driver.fingerprint(signal)).not.toBe(left);
  });

  it('changes when OpenWRT has restarted, even with the same configuration', async () => {
    const { fingerprint } = await driver.read(signal);
    openwrt.simulator.restart();
    expect(await driver.fingerprint(signal)).not.toBe(fingerprint);
  });
});

describe('the session', () => {
  it('is renewed when OpenWRT has forgotten it', async () => {
    await driver.read(signal);
    openwrt.simulator.killRpcd();
    await expect(driver.read(signal)).rejects.toThrow(OpenwrtError);
    await openwrt.clock.advance(UNTIL_RPCD_IS_BACK_MS);
    expect((await driver.read(signal)).packages.size).toBe(2);
  });

  it('is begun with the password that is in the file now', async () => {
    writeFileSync(openwrt.passwordFile, 'wrong');
    await expect(driver.read(signal)).rejects.toThrow(OpenwrtUnreachableError);
    await expect(driver.read(signal)).rejects.toThrow('refuses the username and password');
    writeFileSync(openwrt.passwordFile, 'agent-pw');
    expect((await driver.read(signal)).packages.size).toBe(2);
  });

  it('stays out of errors, as the password does, whatever call fails', async () => {
    await driver.read(signal);
    const seen: string[] = [];
    for (const action of [
      { kind: 'reset' },
      { kind: 'status', status: 9 },
      { kind: 'error', error: 'parse' },
    ] as const) {
      openwrt.simulator.faults.add({ times: 30, action });
      const error: unknown = await driver.read(signal).catch((reason: unknown) => reason);
      seen.push(inspect(error, { depth: 10, showHidden: true }));
      openwrt.simulator.faults.clear();
    }
    for (const text of seen) {
      expect(text).toMatch(/ubus file|when .etc.config.firewall is read/);
      expect(text).not.toMatch(/agent-pw|[0-9a-f]{32}/);
    }
  });
});

describe('https', () => {
  it('is spoken with the CA of the file, and with no other', async () => {
    const tls = await createTls();
    const secure = await startOpenwrt({ https: { certificate: tls.cert, key: tls.key } });
    const caFile = join(secure.folder, 'ca.pem');
    const url = secure.simulator.httpsUrl ?? '';
    const client = ubusDriver(secure, ['firewall'], { url, caFile, serverName: 'openwrt.test' });
    writeFileSync(caFile, (await createTls()).ca);
    await expect(client.read(signal)).rejects.toThrow(OpenwrtUnreachableError);
    writeFileSync(caFile, tls.ca);
    expect((await client.read(signal)).packages.size).toBe(1);
    await client.close();
    await secure.stop();
  });
});

const createTls = async () => {
  const validity = { issuedAt: Date.now(), lifetimeMs: 3_600_000 };
  const ca = await createCa('test', validity);
  return { ca: ca.cert, ...(await issueServing(ca, ['openwrt.test'], validity)) };
};
