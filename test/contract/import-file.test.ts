/**
 * The file of an import holds every key of its package. It is for its owner alone while it is
 * there, and it is removed however the change ends. All of the device's files are searched for the
 * key.
 */
import { globSync, readFileSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, it } from 'vitest';
import type { UciSection } from '#shared/uci/model.ts';
import type { Driver } from '../../agent/openwrt/driver.ts';
import { startOpenwrt, type TestOpenwrt } from './agent/support/openwrt.ts';
import { timed } from './agent/support/time.ts';
import type { Fault } from '../openwrt/simulator/faults.ts';
import { ubusDriver } from './conformance/simulated.ts';

const NEVER = new AbortController().signal;
const KEY = 'a-key-that-nobody-else-may-hold';
const FILE = '/tmp/sdewan-ipsec';
/** One more than are written as a delta. */
const REMOTES = Array.from({ length: 3_001 }, (_, index): UciSection => ({
  name: `sdewan_remote_${index}`,
  anonymous: false,
  type: 'remote',
  options: { gateway: '192.0.2.1', pre_shared_key: `${KEY}-${index}` },
}));
const CHANGE = { package: 'ipsec', remove: [], set: [], append: REMOTES };
const IMPORTS = { object: 'file', method: 'exec', contains: FILE } as const;

let openwrt: TestOpenwrt;
let drivers: Driver[];
beforeEach(async () => {
  openwrt = await startOpenwrt();
  drivers = [];
});
afterEach(async () => {
  openwrt.simulator.faults.clear();
  await Promise.all(drivers.map((driver) => driver.close()));
  await openwrt.stop();
});

/** Whose calls are not waited for. */
const newAgent = (): Driver => {
  const { simulator, clock, usernameFile, passwordFile } = openwrt;
  const driver = ubusDriver({ url: simulator.url, usernameFile, passwordFile }, clock.agent);
  drivers.push(timed(driver, clock));
  return driver;
};
const newDriver = (): Driver => timed(newAgent(), openwrt.clock);

const importFile = (): string => join(openwrt.simulator.rootDirectory, FILE);

const holdersOfKeys = (): string[] => {
  const cwd = openwrt.simulator.rootDirectory;
  return globSync('**/*', { cwd, exclude: ['sys', 'proc'] })
    .map((path) => `/${path}`)
    .filter((path) => statSync(join(cwd, path)).isFile())
    .filter((path) => readFileSync(join(cwd, path), 'latin1').includes(KEY));
};

/**
 * Resolves while the import hangs, with its file whole. `die`: nothing more comes of that agent.
 */
const importing = async (before?: () => void): Promise<{ die: () => Promise<void> }> => {
  openwrt.simulator.faults.add({ ...IMPORTS, times: 1, action: { kind: 'hang' } });
  const driver = newAgent();
  await openwrt.clock.until(driver.read(NEVER));
  before?.();
  const death = new AbortController();
  const change = driver.apply([CHANGE], death.signal).catch((error: unknown) => error);
  const isHanging = (): boolean =>
    openwrt.simulator.journal().some(({ event }) => event === 'fault');
  await openwrt.clock.reach('the import hangs', isHanging);
  return {
    die: async () => {
      death.abort();
      await change;
    },
  };
};

it('is gone when the change is made, and the keys are in the configuration alone', async () => {
  const driver = newDriver();
  await driver.read(NEVER);
  expect(await driver.apply([CHANGE], NEVER)).toMatchObject({ outcome: 'done' });
  expect(openwrt.writes('uci import')).toBe(1);
  expect(holdersOfKeys()).toEqual(['/etc/config/ipsec']);
});

it('is for its owner alone while it is there, whatever lay there before', async () => {
  const { die } = await importing(() =>
    writeFileSync(importFile(), 'of somebody else', { mode: 0o644 }),
  );
  expect(readFileSync(importFile(), 'utf8')).toContain(KEY);
  expect(statSync(importFile()).mode & 0o777).toBe(0o600);
  await die();
});

it('is removed by the next agent, where the one that wrote it died', async () => {
  const { die } = await importing();
  await die();
  expect(holdersOfKeys()).toContain(FILE);
  await newDriver().read(NEVER);
  expect(holdersOfKeys()).toEqual([]);
});

const failures: [string, Fault][] = [
  ['it is refused', { ...IMPORTS, action: { kind: 'status', status: 9 } }],
  ['its answer is lost', { ...IMPORTS, when: 'after', times: 1, action: { kind: 'reset' } }],
  [
    'a part of the file is not written',
    { object: 'file', method: 'write', contains: FILE, skip: 1, action: { kind: 'reset' } },
  ],
  [
    'the file is not what was sent',
    { object: 'file', method: 'md5', contains: FILE, action: { kind: 'status', status: 9 } },
  ],
];

it.each(failures)('is gone as soon as the import fails: %s', async (_what, fault) => {
  const driver = newDriver();
  await driver.read(NEVER);
  openwrt.simulator.faults.add(fault);
  await expect(driver.apply([CHANGE], NEVER)).rejects.toThrow(/./);
  expect(holdersOfKeys()).not.toContain(FILE);
});

it('is removed at the next reading, where OpenWRT did not answer its removal', async () => {
  const driver = newDriver();
  await driver.read(NEVER);
  // The first removal makes room for the file.
  const lost = { object: 'file', method: 'remove', contains: FILE, skip: 1, times: 1 } as const;
  openwrt.simulator.faults.add({ ...lost, action: { kind: 'reset' } });
  await expect(driver.apply([CHANGE], NEVER)).rejects.toThrow(/./);
  expect(holdersOfKeys()).toContain(FILE);
  await driver.read(NEVER);
  // The import itself was done, and what would tell it from another's change was not noted.
  expect(holdersOfKeys()).toEqual(['/etc/config/ipsec']);
});
