/** What every driver promises, whatever API it speaks: one suite for all of `paths.ts`. */
import { describe, expect, it } from 'vitest';
import { deviceFiles } from '#shared/resources/device-files.ts';
import { isEmptyDelta } from '#shared/uci/delta.ts';
import { OpenwrtUnreachableError } from '../../../agent/openwrt/driver.ts';
import { benchOf, NEVER } from './bench.ts';
import { paths, simulatedPaths } from './paths.ts';

const HOSTILE = [
  `it's "quoted"`,
  `'; reboot; '`,
  '$(reboot)',
  '`reboot`',
  'a\\nb\\',
  '# no comment',
  "x'\\''y",
  'Grüße 🦔',
  '0',
  'true',
  '-1',
];

describe.each(paths)('$name', (path) => {
  const { fixture, bigDelta, looks } = path;
  const { rule, isOurs } = fixture;
  const { target, driver, bring, expectBrought, expectNoticed } = benchOf(path);

  describe('reads', () => {
    it('packages as they are', async () => {
      const { packages } = await driver().read(NEVER);
      for (const [name, { sections }] of packages) {
        // No package of UCI.
        if (name === deviceFiles.name) continue;
        const seen = await target().sections(name);
        expect(sections.map(({ type }) => type)).toEqual(seen.map(({ type }) => type));
        expect(sections.map(({ options }) => options)).toEqual(seen.map(({ options }) => options));
        // Some drivers have to go by the id of a section without a name.
        const named = sections.filter((_section, at) => seen[at]?.name !== undefined);
        expect(named.map(({ name: given }) => given)).toEqual(
          seen.flatMap(({ name: given }) => given ?? []),
        );
        expect(named.filter(({ anonymous }) => anonymous)).toEqual([]);
      }
      expect([...packages.keys()]).toContain(fixture.package);
    });

    it('gives the same fingerprint without a change, and another one after it', async () => {
      const { fingerprint } = await driver().read(NEVER);
      expect(await driver().fingerprint(NEVER)).toBe(fingerprint);
      const result = await bring([rule('a')]);
      const after = result.outcome === 'done' ? result.fingerprint : '';
      expect(after).not.toBe(fingerprint);
      for (let look = 1; look <= looks; look += 1)
        expect(await driver().fingerprint(NEVER)).toBe(after);
      await bring([rule('b')], { driver: target().driver() });
      await expectNoticed(after);
    });
  });

  describe('applies', () => {
    it('new sections, behind those that are there and in order', async () => {
      await expectBrought([rule('c'), rule('a'), rule('b')]);
      const { type } = rule('a');
      const order = (await target().sections(fixture.package))
        .filter((section) => section.type === type)
        .map(isOurs);
      expect(order.indexOf(true)).toBe(order.length - 3);
    });

    it('options that come, change and go', async () => {
      await expectBrought([rule('a', { src_ip: '10.0.0.1' }), rule('b')]);
      await expectBrought([rule('a', { src_ip: '10.0.0.2' }), rule('b')]);
      await expectBrought([rule('a', { src_port: '81', family: 'ipv4' }), rule('b')]);
    });

    it('brings a section in the middle, a removal and a swap', async () => {
      const [a, b, c, d] = [rule('a'), rule('b'), rule('c'), rule('d')];
      await expectBrought([a, b, c]);
      await expectBrought([a, d, b, c]);
      await expectBrought([a, c]);
      await expectBrought([c, a]);
      await expectBrought([]);
    });

    it('changes nothing for what is there already', async () => {
      const desired = [rule('a'), rule('b')];
      await expectBrought(desired);
      const { packages, fingerprint } = await driver().read(NEVER);
      const observed = packages.get(fixture.package) ?? { name: '', sections: [] };
      const delta = fixture.deltaOf({ observed, desired, isOurs });
      expect(isEmptyDelta(delta)).toBe(true);
      expect(await driver().apply([delta], NEVER)).toMatchObject({ outcome: 'done', fingerprint });
    });

    it(`${bigDelta} sections at once, changes half of them and removes all`, async () => {
      const many = Array.from({ length: bigDelta }, (_, index) => rule(String(index)));
      await expectBrought(many);
      await expectBrought(
        many.map((section, index) =>
          index % 2 === 0 ? section : rule(String(index), { src_port: '443' }),
        ),
      );
      await expectBrought([]);
    });

    it('lists that come, change and go', async () => {
      for (const options of fixture.lists) await expectBrought([rule('a', options), rule('b')]);
      await expectBrought([rule('a'), rule('b')]);
    });

    it('values with any characters', async () => {
      await expectBrought(HOSTILE.map((value, index) => fixture.text(String(index), value)));
    });
  });

  it('does not guess when nothing answers, or the password is wrong', async () => {
    for (const why of ['address', 'password'] as const) {
      const lost = target().lost(why);
      await expect(lost.read(NEVER)).rejects.toBeInstanceOf(OpenwrtUnreachableError);
      await expect(lost.fingerprint(NEVER)).rejects.toBeInstanceOf(OpenwrtUnreachableError);
    }
  });

  it('goes on after it was closed, in a session of its own', async () => {
    await expectBrought([rule('a')]);
    await driver().close();
    await expectBrought([rule('a'), rule('b')]);
  });
});

describe.each(simulatedPaths)('$name', (path) => {
  const { rule } = path.fixture;
  const { driver, hands, bring, ours } = benchOf(path);

  it('reloads the service of each package that it changed, and no other', async () => {
    const before = await hands().serviceActions();
    await bring([rule('a')]);
    const after = await hands().serviceActions();
    expect(after['firewall']).toBeGreaterThan(before['firewall'] ?? 0);
    expect({ ...after, firewall: 0 }).toEqual({ ...before, firewall: 0 });
  });

  it("notices an administrator's change, also one that keeps the size", async () => {
    const { fingerprint } = await driver().read(NEVER);
    hands().write('firewall', hands().text('firewall').replace("'22'", "'23'"));
    await expect.poll(() => driver().fingerprint(NEVER)).not.toBe(fingerprint);
  });

  it('notices that OpenWRT has restarted', async () => {
    await bring([rule('a')]);
    const { fingerprint, incarnation } = await driver().read(NEVER);
    hands().restart();
    await expect
      .poll(() =>
        driver()
          .fingerprint(NEVER)
          .catch(() => fingerprint),
      )
      .not.toBe(fingerprint);
    const after = await driver().read(NEVER);
    expect(after.incarnation).not.toBe(incarnation);
    expect(await ours()).toEqual([]);
  });
});
