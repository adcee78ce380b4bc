/** A device whose /etc/config is full: nothing of anybody is lost, no service takes the rest of a file, and the cause is named. */
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { namedSection } from '#shared/compile/testing.ts';
import { deltaOf } from '#shared/uci/delta.ts';
import type { UciSection } from '#shared/uci/model.ts';
import type { Driver } from '../../../agent/device/driver.ts';
import { startWorld, type World } from './world.ts';

const NEVER = new AbortController().signal;
const CAUSE = 'there may be no space left in its /etc/config';
const oursOf = (name: string, value: string): UciSection =>
  name === 'firewall'
    ? namedSection('rule', 'sdewan_rule_a', { name: 'a', src: 'lan', dest_port: value })
    : namedSection('policy', 'ours', { last_resort: value });

let world: World;
let driver: Driver;
let reloads: number;

beforeEach(async () => {
  reloads = 0;
  const reload = () => {
    reloads += 1;
    return { code: 0, stdout: '', stderr: '' };
  };
  world = await startWorld('fast', { '/sbin/fw4': reload, '/etc/init.d/mwan3': reload });
  ({ driver } = await world.open());
});
afterEach(() => world.stop());

const bring = async (name: string, value: string) => {
  const { packages } = await driver.read(NEVER);
  const observed = packages.get(name) ?? { name, sections: [] };
  const desired = [oursOf(name, value)];
  const isOurs = (each: UciSection): boolean => each.name === desired[0]?.name;
  return driver.apply([deltaOf({ observed, desired, isOurs })], NEVER);
};

const halfOf = (text: string): number => text.length / 2;
const atEndOfSection = (text: string): number => text.indexOf('\n\n', halfOf(text)) + 1;
const withinSection = (text: string): number => text.indexOf('\n\toption', halfOf(text)) + 1;

describe.each(['firewall', 'mwan3'])('a change of package %s', (name) => {
  it.each<[string, (text: string) => number]>([
    ['is empty', () => 0],
    ['ends after a section', atEndOfSection],
    ['ends within a section', withinSection],
  ])('that OpenWRT has no space for, so that the file %s, is undone', async (_what, free) => {
    expect(await bring(name, '1')).toMatchObject({ outcome: 'done' });
    const before = world.text(name);
    world.simulator.store.freeBytes = free(before);
    await expect(bring(name, '2')).rejects.toThrow(CAUSE);
    expect(world.text(name)).toBe(before);
    world.passDeviceTime(120_000);
    expect([world.text(name), reloads]).toEqual([before, 1]);

    world.simulator.store.freeBytes = Infinity;
    expect(await bring(name, '2')).toMatchObject({ outcome: 'done' });
    expect(world.names(name)).toContain(oursOf(name, '2').name);
    expect(reloads).toBe(2);
  });
});
