import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, it } from 'vitest';
import type { PodNetworks } from '#shared/compile/types.ts';
import { silentLogger } from '#shared/runtime/log.ts';
import { createManualClock, type ManualClock } from '#shared/runtime/testing/manual-clock.ts';
import { followNetworks } from './networks.ts';

const annotation = (...names: string[]): string =>
  JSON.stringify({
    type: 'ovn4nfv',
    interface: names.map((name, at) => ({ defaultGateway: 'false', interface: `net${at}`, name })),
  });

let folder: string;
let clock: ManualClock;
let stopping: AbortController;
let changes: number;
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'networks-'));
  clock = createManualClock();
  stopping = new AbortController();
  changes = 0;
});
afterEach(() => {
  stopping.abort();
  rmSync(folder, { recursive: true });
});

const FILES = {
  nodusFile: 'nfn-network',
  selectionsFile: 'networks',
  statusFile: 'network-status',
};
const write = (file: keyof typeof FILES, text: string): void =>
  writeFileSync(join(folder, FILES[file]), text);
const follow = (files: Partial<typeof FILES>): Promise<() => PodNetworks> => {
  const at = (name: string | undefined) => name && join(folder, name);
  return followNetworks({
    namespace: 'edge',
    nodusFile: at(files.nodusFile),
    selectionsFile: at(files.selectionsFile),
    statusFile: at(files.statusFile),
    onChange: () => {
      changes += 1;
    },
    signal: stopping.signal,
    clock,
    log: silentLogger,
  });
};
const looked = async (): Promise<void> => {
  await clock.step();
  await clock.untilSleeping();
};

it('follows the networks of the pod; what cannot be read changes nothing', async () => {
  write('nodusFile', annotation('a', 'b'));
  const networks = await follow({ nodusFile: FILES.nodusFile });
  const look = async (): Promise<string[]> => {
    await looked();
    return [...networks().networks.keys()];
  };
  expect([...networks().networks.keys()]).toEqual(['a', 'b']);
  expect(await look()).toEqual(['a', 'b']);
  expect(changes).toBe(0);
  write('nodusFile', '{ not JSON');
  expect(await look()).toEqual(['a', 'b']);
  rmSync(join(folder, FILES.nodusFile));
  expect(await look()).toEqual(['a', 'b']);
  write('nodusFile', annotation('c'));
  expect(await look()).toEqual(['c']);
  expect(changes).toBeGreaterThan(0);
});

it('follows what Multus writes later, and what it takes back', async () => {
  write('nodusFile', '');
  write('selectionsFile', 'lan, apps/wan@wan0');
  write('statusFile', '');
  const networks = await follow(FILES);
  expect([...networks().networks]).toEqual([
    ['apps/wan', 'wan0'],
    ['apps/wan@wan0', 'wan0'],
  ]);
  write('statusFile', JSON.stringify([{ name: 'edge/lan', interface: 'net1' }]));
  await expect
    .poll(async () => {
      await looked();
      return networks().networks.get('lan');
    })
    .toBe('net1');
  expect(changes).toBe(1);
  write('statusFile', '[');
  await looked();
  expect(networks().networks.get('edge/lan')).toBe('net1');
  write('statusFile', '');
  await expect
    .poll(async () => {
      await looked();
      return networks().networks.has('lan');
    })
    .toBe(false);
});

it('gives a pod without networks none', async () => {
  const networks = await follow({});
  expect(networks().networks.size).toBe(0);
});
