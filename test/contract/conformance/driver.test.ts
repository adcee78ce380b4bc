/** What every driver promises, whatever API it speaks: one suite for all of `paths.ts`. */
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { isEmptyDelta } from '#shared/uci/delta.ts';
import type { UciSection } from '#shared/uci/model.ts';
import {
  OpenwrtBlockedError,
  OpenwrtUnreachableError,
  type Driver,
} from '../../../agent/openwrt/driver.ts';
import { bring, deltaTo, foreignIn, isOurs, NEVER, oursIn, OURS, rule, shown } from './fixtures.ts';
import { paths } from './paths.ts';
import type { Target } from './target.ts';

describe.each(paths)('$name', ({ open, holds }) => {
  let target: Target;
  let driver: Driver;
  beforeEach(async () => {
    target = await open();
    driver = target.driver();
  });
  afterEach(() => target.leave());

  /** Brings it about, and sees it from outside, foreign sections as before. */
  const expectBrought = async (desired: readonly UciSection[]): Promise<void> => {
    const foreign = await foreignIn(target);
    const result = await bring(driver, desired);
    expect(result).toMatchObject({ outcome: 'done' });
    expect(await oursIn(target)).toEqual(desired.map(shown));
    expect(await foreignIn(target)).toEqual(foreign);
    if (result.outcome !== 'done') return;
    const observed = result.observed.get('firewall')?.sections.filter(isOurs) ?? [];
    expect(observed.map(shown)).toEqual(desired.map(shown));
  };

  describe('reads', () => {
    it('packages as they are', async () => {
      const { packages } = await driver.read(NEVER);
      for (const [name, { sections }] of packages) {
        const seen = await target.sections(name);
        expect(sections.map(({ type }) => type)).toEqual(seen.map(({ type }) => type));
        expect(sections.map(({ options }) => options)).toEqual(seen.map(({ options }) => options));
        expect(sections.map((section) => (section.anonymous ? undefined : section.name))).toEqual(
          seen.map((section) => section.name),
        );
      }
      expect([...packages.keys()]).toContain('firewall');
    });

    it('the same fingerprint while nobody changes anything, and another one after a change', async () => {
      const { fingerprint } = await driver.read(NEVER);
      expect(await driver.fingerprint(NEVER)).toBe(fingerprint);
      const result = await bring(driver, [rule('a')]);
      const after = result.outcome === 'done' ? result.fingerprint : '';
      expect(after).not.toBe(fingerprint);
      expect(await driver.fingerprint(NEVER)).toBe(after);
      await bring(target.driver(), [rule('b')]);
      expect(await driver.fingerprint(NEVER)).not.toBe(after);
    });
  });

  describe('applies', () => {
    it('new sections, behind those that are there and in order', async () => {
      await expectBrought([rule('c'), rule('a'), rule('b')]);
      const order = (await target.sections('firewall'))
        .filter(({ type }) => type === 'rule')
        .map(isOurs);
      expect(order.indexOf(true)).toBe(order.length - 3);
    });

    it('options that come, change and go', async () => {
      await expectBrought([rule('a', { src_ip: '10.0.0.1' }), rule('b')]);
      await expectBrought([rule('a', { dest_port: '81', family: 'ipv4' }), rule('b')]);
    });

    it('a section in the middle, a removal and a swap', async () => {
      const [a, b, c, d] = [rule('a'), rule('b'), rule('c'), rule('d')];
      await expectBrought([a, b, c]);
      await expectBrought([a, d, b, c]);
      await expectBrought([a, c]);
      await expectBrought([c, a]);
      await expectBrought([]);
    });

    it('what is there already, by changing nothing', async () => {
      const desired = [rule('a'), rule('b')];
      await expectBrought(desired);
      const { packages, fingerprint } = await driver.read(NEVER);
      const delta = deltaTo(packages, desired);
      expect(isEmptyDelta(delta)).toBe(true);
      expect(await driver.apply([delta], NEVER)).toMatchObject({ outcome: 'done', fingerprint });
    });

    it(`${holds.bigDelta} sections at once, changes half of them and removes all`, async () => {
      const many = Array.from({ length: holds.bigDelta }, (_, index) => rule(String(index)));
      await expectBrought(many);
      await expectBrought(
        many.map((section, index) =>
          index % 2 === 0 ? section : rule(String(index), { dest_port: '443' }),
        ),
      );
      await expectBrought([]);
    });

    it.runIf(holds.lists)('lists, and lists that become single values and back', async () => {
      await expectBrought([rule('a', { src_ip: ['10.0.0.1', '10.0.0.2'] }), rule('b')]);
      await expectBrought([
        rule('a', { src_ip: '10.0.0.1' }),
        rule('b', { proto: ['tcp', 'udp'] }),
      ]);
      await expectBrought([rule('a', { src_ip: ['10.0.0.3'] }), rule('b')]);
    });

    it.runIf(holds.hostileValues)('values that look like anything but values', async () => {
      const hostile = [
        `it's "quoted"`,
        `'; reboot; '`,
        '$(reboot)',
        '`reboot`',
        'a\\nb\\',
        '# no comment',
        "x'\\''y",
        'Grüße 🦔',
        '  blanks  ',
        '0',
        'true',
        '-1',
      ];
      await expectBrought(
        hostile.map((value, index) => rule(String(index), { name: value, extra: value })),
      );
    });
  });

  describe('refuses', () => {
    it.each([
      ['a control character', 'a\x07'],
      ['a NUL', 'a\0b'],
      ['half a character', '\ud800'],
    ])('a value with %s, naming the section, and leaves all as it was', async (_what, value) => {
      await expectBrought([rule('a')]);
      const foreign = await foreignIn(target);
      const result = await bring(driver, [rule('a'), rule('b'), rule('c', { extra: value })]);
      expect(result).toMatchObject({ outcome: 'rejected', sections: [`${OURS}c`] });
      expect(await oursIn(target)).toEqual([shown(rule('a'))]);
      expect(await foreignIn(target)).toEqual(foreign);
      await expectBrought([rule('a'), rule('b')]);
    });

    it('to change what somebody else has changed since it was read', async () => {
      const { packages } = await driver.read(NEVER);
      await bring(target.driver(), [rule('other')]);
      const late = driver.apply([deltaTo(packages, [rule('a')])], NEVER);
      await expect(late).rejects.toBeInstanceOf(OpenwrtBlockedError);
      expect(await oursIn(target)).toEqual([shown(rule('other'))]);
    });

    it('to guess when nothing answers, or the password is wrong', async () => {
      for (const why of ['address', 'password'] as const) {
        const lost = target.lost(why);
        await expect(lost.read(NEVER)).rejects.toBeInstanceOf(OpenwrtUnreachableError);
        await expect(lost.fingerprint(NEVER)).rejects.toBeInstanceOf(OpenwrtUnreachableError);
      }
    });
  });

  it('goes on after it was closed, in a session of its own', async () => {
    await expectBrought([rule('a')]);
    await driver.close();
    await expectBrought([rule('a'), rule('b')]);
  });
});

describe.each(paths.filter(({ name }) => name.includes('simulator')))('$name', ({ open }) => {
  let target: Target;
  let driver: Driver;
  beforeEach(async () => {
    target = await open();
    driver = target.driver();
  });
  afterEach(() => target.leave());
  const hands = () => {
    if (!target.hands) throw new Error('a simulator has them');
    return target.hands;
  };

  it('reloads the service of each package that it changed, and no other', async () => {
    const before = hands().serviceActions();
    await bring(driver, [rule('a')]);
    await expect
      .poll(() => hands().serviceActions()['firewall'])
      .toBeGreaterThan(before['firewall'] ?? 0);
    expect({ ...hands().serviceActions(), firewall: 0 }).toEqual({ ...before, firewall: 0 });
  });

  it("notices an administrator's change, also one that keeps the size", async () => {
    const { fingerprint } = await driver.read(NEVER);
    hands().write('firewall', hands().text('firewall').replace("'22'", "'23'"));
    expect(await driver.fingerprint(NEVER)).not.toBe(fingerprint);
  });

  it('notices that OpenWRT has restarted', async () => {
    await bring(driver, [rule('a')]);
    const { fingerprint, incarnation } = await driver.read(NEVER);
    hands().restart();
    await expect
      .poll(() => driver.fingerprint(NEVER).catch(() => fingerprint))
      .not.toBe(fingerprint);
    const after = await driver.read(NEVER);
    expect(after.incarnation).not.toBe(incarnation);
    expect(await oursIn(target)).toEqual([]);
  });

  it('leaves out a package that is not there, and says why of one that does not parse', async () => {
    hands().remove('ipsec');
    hands().write('mwan3', "config policy 'open\n");
    const { packages, unusable } = await driver.read(NEVER);
    expect([...packages.keys()].filter((name) => ['ipsec', 'mwan3'].includes(name))).toEqual([]);
    expect([...unusable.keys()]).toEqual(['mwan3']);
  });

  it('leaves alone a firewall that would drop everything when it is reloaded', async () => {
    hands().write('firewall', "\nconfig zone\n\toption name 'lan'\n\n");
    const { packages, unusable } = await driver.read(NEVER);
    expect(packages.has('firewall')).toBe(false);
    expect(unusable.get('firewall')).toContain('defaults');
  });
});
