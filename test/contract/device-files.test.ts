/**
 * Files as a part of the device, by what the driver does with them: their contents may change, and
 * a change that is refused leaves them.
 */
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { deviceFiles, fileSection } from '#shared/resources/device-files.ts';
import type { UciSection } from '#shared/uci/model.ts';
import type { ApplyResult, Driver } from '../../agent/openwrt/driver.ts';
import { partOf } from '../../agent/openwrt/parts/parts.ts';
import { startOpenwrt, type TestOpenwrt } from './agent/support/openwrt.ts';
import { openPass, ubusDriver } from './agent/support/pass.ts';

const NEVER = new AbortController().signal;
const PATH = '/etc/ipsec.d/private/sdewan-key.pem';
const OTHER = '/etc/ipsec.d/certs/sdewan-other.pem';
const FILES = deviceFiles.name;

let openwrt: TestOpenwrt;
let driver: Driver;
beforeEach(async () => {
  openwrt = await startOpenwrt();
  driver = ubusDriver(openwrt, ['firewall', 'ipsec']);
});
afterEach(async () => {
  await driver.close();
  await openwrt.stop();
});

const onDevice = (path: string): string => join(openwrt.simulator.rootDirectory, path);
const contentOf = (path: string): string => readFileSync(onDevice(path), 'utf8');
const reloads = (): number => openwrt.simulator.reloads()['ipsec'] ?? 0;

/** Two zones of one name, with which fw4 refuses everything. */
const REFUSED = ['one', 'two'].map((name): UciSection => ({
  name,
  anonymous: false,
  type: 'zone',
  options: { name: 'twice' },
}));

const bring = async (
  files: readonly UciSection[],
  firewall: readonly UciSection[] = [],
): Promise<ApplyResult> => {
  const observed = (await driver.read(NEVER)).packages.get(FILES) ?? { name: '', sections: [] };
  const delta = partOf(FILES).delta({ observed, desired: files, isOurs: () => true });
  const rules = { package: 'firewall', remove: [], set: [], append: firewall };
  return driver.apply(firewall.length > 0 ? [delta, rules] : [delta], NEVER);
};

describe('a file whose content changes', () => {
  it('has the new content before its service is reloaded, once', async () => {
    await bring([fileSection(PATH, 'one')]);
    const before = reloads();
    const result = await bring([fileSection(PATH, 'two')]);
    expect(contentOf(PATH)).toBe('two');
    expect(reloads() - before).toBe(1);
    expect(result.outcome === 'done' && result.observed.get(FILES)?.sections).toEqual([
      fileSection(PATH, 'two'),
    ]);
    const left = result.outcome === 'done' ? result.fingerprint : '';
    expect(await driver.fingerprint(NEVER)).toBe(left);
    writeFileSync(onDevice(PATH), 'of somebody');
    expect(await driver.fingerprint(NEVER)).not.toBe(left);
  });

  it('has the old one again when OpenWRT refuses the change, and its service is reloaded', async () => {
    await bring([fileSection(PATH, 'one')]);
    const before = reloads();
    const change = [fileSection(PATH, 'two'), fileSection(OTHER, 'new')];
    const result = await bring(change, REFUSED);
    expect(result).toMatchObject({ outcome: 'rejected', package: 'firewall' });
    expect(contentOf(PATH)).toBe('one');
    expect(() => contentOf(OTHER)).toThrow('ENOENT');
    // With the rules as they were, and then with the file as it was.
    expect(reloads() - before).toBe(2);
    expect((await driver.read(NEVER)).packages.get(FILES)?.sections).toEqual([
      fileSection(PATH, 'one'),
    ]);
  });

  it('has the old one again when another file cannot be written', async () => {
    await bring([fileSection(PATH, 'one')]);
    openwrt.simulator.faults.add({
      object: 'file',
      method: 'write',
      contains: OTHER,
      action: { kind: 'status', status: 9 },
    });
    const result = await bring([fileSection(PATH, 'two'), fileSection(OTHER, 'new')]);
    expect(result).toMatchObject({ outcome: 'rejected', package: FILES, sections: [OTHER] });
    expect(contentOf(PATH)).toBe('one');
  });
});

it('removes a file that the agent before has written, by its ledger', async () => {
  for (const path of [PATH, OTHER]) writeFileSync(onDevice(path), 'of the agent before');
  writeFileSync(
    join(openwrt.folder, 'ledger.json'),
    JSON.stringify({
      version: 1,
      owned: { [`ipsec-files.${PATH}`]: 'IpsecSite', [`ipsec-files.${OTHER}`]: 'IpsecSite' },
      takenOver: {},
      unsettled: ['ipsec-files'],
      warnings: {},
      comments: { atStake: [], lost: [] },
      commentsTold: [],
      lost: 'no',
    }),
  );
  const agent = await openPass(openwrt, { driver });
  await agent.run([]);
  for (const path of [PATH, OTHER]) expect(() => contentOf(path)).toThrow('ENOENT');
  expect(reloads()).toBeGreaterThan(0);
  const kept = readFileSync(join(openwrt.folder, 'ledger.json'), 'utf8');
  expect(JSON.parse(kept)).toMatchObject({ owned: {}, unsettled: [] });
});
