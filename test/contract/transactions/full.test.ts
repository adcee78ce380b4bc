/**
 * A device whose /etc/config is full: nothing of anybody is lost, no service takes the rest of a
 * file, and the cause is named.
 */
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { namedSection } from '#shared/compile/testing.ts';
import { deltaOf } from '#shared/uci/delta.ts';
import type { UciSection } from '#shared/uci/model.ts';
import type { Driver } from '../../../agent/openwrt/driver.ts';
import { readUci, type DeviceSection } from '../../openwrt/checks/uci.ts';
import { startFixture, type Fixture } from './fixture.ts';

const NEVER = new AbortController().signal;
const CAUSE = 'there may be no space left in its /etc/config';
const PACKAGES = ['firewall', 'mwan3'];
const oursOf = (name: string, value: string): UciSection =>
  name === 'firewall'
    ? namedSection('rule', 'sdewan_rule_a', { name: 'a', src: 'lan', dest_port: value })
    : namedSection('policy', 'ours', { last_resort: value });

const halfOf = (text: string): number => text.length / 2;
const atEndOfSection = (text: string): number => text.indexOf('\n\n', halfOf(text)) + 1;
const withinSection = (text: string): number => text.indexOf('\n\toption', halfOf(text)) + 1;
const cuts: [string, (text: string) => number][] = [
  ['is empty', () => 0],
  ['ends after a section', atEndOfSection],
  ['ends within a section', withinSection],
  ['ends within a line', (text) => withinSection(text) + 4],
];

let fixture: Fixture;
let driver: Driver;
let reloads: number;

describe.each(['fast', 'root', 'staged'] as const)('%s', (path) => {
  beforeEach(async () => {
    reloads = 0;
    const reload = () => {
      reloads += 1;
      return { code: 0, stdout: '', stderr: '' };
    };
    fixture = await startFixture(path, { '/sbin/fw4': reload, '/etc/init.d/mwan3': reload });
    ({ driver } = await fixture.open());
  });
  afterEach(() => fixture.stop());

  const bring = async (wanted: Readonly<Record<string, readonly UciSection[]>>) => {
    const { packages } = await driver.read(NEVER);
    const deltas = Object.entries(wanted).map(([name, desired]) => {
      const observed = packages.get(name) ?? { name, sections: [] };
      const isOurs = (each: UciSection): boolean => /^(sdewan_|ours)/.test(each.name);
      return deltaOf({ observed, desired, isOurs });
    });
    return driver.apply(deltas, NEVER);
  };
  const contents = () => PACKAGES.map((name) => readUci(fixture.text(name)));
  const withoutOurs = (sections: readonly DeviceSection[]) =>
    sections.filter(({ name }) => !/^(sdewan_|ours)/.test(name ?? ''));
  const others = () => contents().map(withoutOurs);

  /** On the staged way a file that does not even parse stays so: nothing of `uci` works on it. */
  const mendable = cuts.filter(([what]) => path === 'fast' || !what.includes('within a line'));

  describe.each(PACKAGES)('a change of package %s', (name) => {
    it.each(mendable)(
      'is undone when OpenWRT has no space for it, so that the file %s',
      async (_what, free) => {
        expect(await bring({ [name]: [oursOf(name, '1')] })).toMatchObject({ outcome: 'done' });
        const before = fixture.text(name);
        fixture.simulator.store.freeBytes = free(before);
        await expect(bring({ [name]: [oursOf(name, '2')] })).rejects.toThrow(CAUSE);
        expect(readUci(fixture.text(name))).toEqual(readUci(before));
        fixture.passDeviceTime(120_000);
        expect(readUci(fixture.text(name))).toEqual(readUci(before));
        expect(path === 'fast' ? [fixture.text(name), reloads] : [before, 1]).toEqual([before, 1]);

        fixture.simulator.store.freeBytes = Infinity;
        expect(await bring({ [name]: [oursOf(name, '2')] })).toMatchObject({ outcome: 'done' });
        expect(fixture.names(name)).toContain(oursOf(name, '2').name);
        expect(path === 'fast' ? reloads : 2).toBe(2);
      },
    );
  });

  const atTheEnd = [
    'ends within its last section',
    (text: string) => text.lastIndexOf('\n\toption') + 1,
  ] as const;
  it.each([...mendable, atTheEnd])(
    'loses nothing of others in a large change of two packages when the second %s',
    async (_what, free) => {
      const old = namedSection('rule', 'sdewan_rule_old', { name: 'old', src: 'lan' });
      await bring({ firewall: [old, oursOf('firewall', '1')], mwan3: [oursOf('mwan3', '1')] });
      // A section of the administrator, behind one of ours that goes.
      const late = "\nconfig rule 'late'\n\toption name 'late'\n\toption src 'lan'\n";
      fixture.write('firewall', `${fixture.text('firewall')}${late}`);
      const before = contents();
      const many = Array.from({ length: 60 }, (_each, at) =>
        namedSection('rule', `sdewan_rule_${at}`, { name: `r${at}`, src: 'lan' }),
      );
      // The policy takes one character more.
      fixture.simulator.store.freeBytes = fixture.text('mwan3').length + 1;
      const room = free(fixture.text('firewall')) - fixture.text('mwan3').length;
      if (room > 0) fixture.simulator.store.freeBytes += room;
      const change = {
        mwan3: [oursOf('mwan3', '22')],
        firewall: [...many, oursOf('firewall', '2')],
      };
      await expect(bring(change)).rejects.toThrow(CAUSE);
      fixture.passDeviceTime(120_000);
      expect(others()).toEqual(before.map(withoutOurs));
      fixture.simulator.store.freeBytes = Infinity;
      expect(await bring(change)).toMatchObject({ outcome: 'done' });
      expect(others()).toEqual(before.map(withoutOurs));
    },
  );
});
