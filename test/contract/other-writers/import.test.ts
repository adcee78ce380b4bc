/**
 * A change of over 3,000 sections is imported: the whole package is written, as it was read some
 * time before.
 */
import { afterEach, expect, it } from 'vitest';
import { OpenwrtError } from '../../../agent/openwrt/driver.ts';
import { openBench, type Bench } from './bench.ts';

const NEVER = new AbortController().signal;
const MANY = Array.from({ length: 3_001 }, (_, at) => ({
  name: `sdewan_rule_${at}`,
  type: 'rule',
  anonymous: false,
  options: { name: `${at}`, src: 'lan', proto: 'tcp', dest_port: `${at + 1}`, target: 'DROP' },
}));

let bench: Bench;
afterEach(() => bench.stop());

/** As the loop does: what did not get through is read and tried again. */
const bring = async (): Promise<void> => {
  const { driver } = bench.agent;
  for (let tries = 0; tries < 4; tries += 1) {
    const { packages } = await driver.read(NEVER);
    const there = new Set(packages.get('firewall')?.sections.map(({ name }) => name));
    const append = MANY.filter(({ name }) => !there.has(name));
    const delta = { package: 'firewall', remove: [], set: [], append };
    const result = await driver.apply([delta], NEVER).catch((error: unknown) => error);
    if (result instanceof OpenwrtError) continue;
    if (result instanceof Error) throw result;
    return;
  }
  throw new Error('never got through');
};

it('keeps what an administrator commits meanwhile, and brings all of its own', async () => {
  bench = await openBench();
  const { clock, again, together, ours, foreign, byShell, wasUndoneBy } = bench;
  await again();
  const end = await together(bring());
  expect(bench.openwrt.writes('uci import')).toBe(1);
  let undone = 0;
  // Most of the time goes into the parts of the file that is to be imported.
  for (let atMs = 4.5; atMs < end; atMs += atMs < end - 8 ? 8 : 1) {
    await again();
    await together(bring(), clock.agent.sleep(atMs).then(byShell));
    const names = foreign().map(({ name }) => name);
    const wasUndone = wasUndoneBy('uci import');
    undone += wasUndone ? 1 : 0;
    expect(names.includes('admin'), `after ${atMs} ms`).toBe(!wasUndone);
    expect(new Set(ours()).size, `after ${atMs} ms`).toBe(MANY.length + 3);
  }
  expect(undone).toBeLessThanOrEqual(1);
});

it('is not imported when the file for it is not whole', async () => {
  bench = await openBench();
  const { openwrt, together, ours, foreign } = bench;
  const others = foreign();
  openwrt.simulator.faults.add({
    object: 'file',
    method: 'write',
    contains: '/tmp/sdewan-firewall',
    skip: 2,
    times: 1,
    action: { kind: 'status', status: 0 },
  });
  await together(bring());
  expect(foreign()).toEqual(others);
  expect(new Set(ours()).size).toBe(MANY.length + 3);
  expect(openwrt.writes('uci import')).toBe(1);
});
