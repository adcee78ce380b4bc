/**
 * A restart of the firewall that a user asks for: rules that others have put into its table are
 * gone, its own are there. Needs a device that can be looked into. Chains of others stay, empty, as
 * fw4 does not know them. A login with the least rights may not reload.
 */
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { cr } from '../agent/support/pass.ts';
import { namedDevice } from './named-device.ts';
import { onDevice, passOn, recordedPath, type Stage } from './stage.ts';

const given = namedDevice();
const devices = given?.inside && recordedPath(given) !== 'icn' ? [given] : [];
const THEIRS = 'nft add rule inet fw4 forward counter comment of_others\n';
const LIST = 'nft list table inet fw4\n';
const rules = [cr('FirewallRule', 'web', { src: 'lan', proto: 'tcp', dest_port: '8081' })];

describe.each(devices)('the firewall of $url', (device) => {
  const inside = device.inside ?? (() => '');
  const folder = mkdtempSync(join(tmpdir(), 'restart-'));
  let stage: Stage;
  beforeAll(async () => {
    stage = await onDevice(device);
  });
  afterAll(async () => {
    inside('fw4 -q reload\n');
    await stage.leave();
    rmSync(folder, { recursive: true });
  });

  it('is loaded anew once, with all rules, or the pass says that the login may not', async () => {
    const may = recordedPath(device) === 'ubus-fast';
    const served: boolean[] = [];
    let due: { id: string; service: 'firewall' } | undefined;
    const pass = await passOn(device, folder, undefined, {
      due: () => due,
      served: (_, done) => {
        due = undefined;
        served.push(done);
      },
    });
    const passes = async (): Promise<string> => {
      inside(THEIRS);
      await pass.run(rules);
      return inside(LIST);
    };
    await passes();
    const before = await passes();
    due = { id: 'a', service: 'firewall' };
    const anew = await passes();
    const after = await passes();
    expect([served, due]).toEqual([[may], undefined]);
    const theirs = [before, anew, after].map((text) => text.includes('of_others'));
    // The others have the firewall reloaded by procd, a second after they have changed it.
    expect(may ? theirs : []).toEqual(may ? [true, false, true] : []);
    await pass.run([]);
    await pass.driver.close();
  });
});

it('is not asked for where no device is given', () => {
  expect(devices.length > 0).toBe(given?.inside !== undefined && recordedPath(given) !== 'icn');
});
