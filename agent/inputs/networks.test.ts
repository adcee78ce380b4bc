import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, it } from 'vitest';
import { silentLogger } from '#shared/runtime/log.ts';
import { createManualClock, type ManualClock } from '#shared/runtime/testing/manual-clock.ts';
import { followNetworks } from './networks.ts';

const annotation = (...names: string[]): string =>
  JSON.stringify({
    type: 'ovn4nfv',
    interface: names.map((name, at) => ({ defaultGateway: 'false', interface: `net${at}`, name })),
  });

let folder: string;
let file: string;
let clock: ManualClock;
let stopping: AbortController;
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'networks-'));
  file = join(folder, 'nfn-network');
  clock = createManualClock();
  stopping = new AbortController();
});
afterEach(() => {
  stopping.abort();
  rmSync(folder, { recursive: true });
});

it('follows the networks of the pod; what cannot be read changes nothing', async () => {
  writeFileSync(file, annotation('a', 'b'));
  let changes = 0;
  const onChange = (): void => {
    changes += 1;
  };
  const { signal } = stopping;
  const networks = await followNetworks({ file, onChange, signal, clock, log: silentLogger });
  const look = async (): Promise<string[]> => {
    await clock.step();
    await clock.awaited();
    return [...networks().keys()];
  };
  expect([...networks().keys()]).toEqual(['a', 'b']);
  expect(await look()).toEqual(['a', 'b']);
  expect(changes).toBe(0);
  writeFileSync(file, '{ not JSON');
  expect(await look()).toEqual(['a', 'b']);
  rmSync(file);
  expect(await look()).toEqual(['a', 'b']);
  writeFileSync(file, annotation('c'));
  expect(await look()).toEqual(['c']);
  expect(changes).toBeGreaterThan(0);
});

it('gives a pod without networks none', async () => {
  const { signal } = stopping;
  const onChange = (): void => undefined;
  const networks = await followNetworks({
    file: undefined,
    onChange,
    signal,
    clock,
    log: silentLogger,
  });
  expect(networks().size).toBe(0);
});
