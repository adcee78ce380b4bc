/** A path under test: a fresh OpenWRT for each test, and what the suite does with it. */
import { afterEach, beforeEach, expect } from 'vitest';
import type { UciPackage, UciSection } from '#shared/uci/model.ts';
import type { ApplyResult, Driver } from '../../../agent/openwrt/driver.ts';
import type { DeviceSection } from '../../openwrt/checks/uci.ts';
import type { Hands, Target, WritePath } from './target.ts';

export const NEVER = new AbortController().signal;

export type Bench = {
  target: () => Target;
  /** @throws Error where the suite is a guest */
  hands: () => Hands;
  driver: () => Driver;
  /**
   * Brings the package of the fixture to these, and gives the answer. From what was read some time
   * ago, if that is given.
   */
  bring: (
    desired: readonly UciSection[],
    from?: { driver?: Driver; packages?: ReadonlyMap<string, UciPackage> },
  ) => Promise<ApplyResult>;
  /** Applies it, and checks it from outside, with the sections of others as before. */
  expectBrought: (desired: readonly UciSection[]) => Promise<void>;
  /** The driver notices a change, as early as the path promises. */
  expectNoticed: (left: string) => Promise<void>;
  ours: () => Promise<DeviceSection[]>;
  foreign: () => Promise<DeviceSection[]>;
};

/** To be called in a `describe`. */
export const benchOf = ({ open, fixture, looks }: WritePath): Bench => {
  const { package: name, isOurs } = fixture;
  let target: Target;
  let driver: Driver;
  beforeEach(async () => {
    target = await open();
    driver = target.driver();
  });
  afterEach(() => target.leave());

  const ours = async () => (await target.sections(name)).filter(isOurs);
  const foreign = async () => (await target.sections(name)).filter((each) => !isOurs(each));
  const bring: Bench['bring'] = async (desired, { driver: by = driver, packages } = {}) => {
    const known = packages ?? (await by.read(NEVER)).packages;
    const observed = known.get(name) ?? { name, sections: [] };
    return by.apply([fixture.deltaOf({ observed, desired, isOurs })], NEVER);
  };
  return {
    target: () => target,
    hands: () => {
      if (!target.hands) throw new Error('a guest has none');
      return target.hands;
    },
    driver: () => driver,
    bring,
    expectBrought: async (desired) => {
      const before = await foreign();
      const result = await bring(desired);
      expect(result).toMatchObject({ outcome: 'done' });
      expect(await ours()).toEqual(desired.map(shown));
      expect(await foreign()).toEqual(before);
      if (result.outcome !== 'done') return;
      const observed = result.observed.get(name)?.sections.filter(isOurs) ?? [];
      expect(observed.map(shown)).toEqual(desired.map(shown));
    },
    expectNoticed: async (left) => {
      const seen = new Set<string>();
      for (let look = 1; look <= looks; look += 1) seen.add(await driver.fingerprint(NEVER));
      seen.delete(left);
      expect(seen.size).toBeGreaterThan(0);
    },
    ours,
    foreign,
  };
};

export type Shown = { name: string | undefined; type: string; options: DeviceSection['options'] };

export const shown = ({ name, type, options }: UciSection): Shown => ({
  name,
  type,
  options: Object.fromEntries(
    Object.entries(options).map(([option, value]) => [
      option,
      typeof value === 'string' ? value : [...value],
    ]),
  ),
});
