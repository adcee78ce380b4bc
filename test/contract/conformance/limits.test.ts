/**
 * What a driver promises where its API lets it, and where the API does not, what it does instead.
 * Which and why: `cannot` in `paths.ts`, which the tests' names repeat.
 */
import { describe, expect, it } from 'vitest';
import { OpenwrtBlockedError } from '../../../agent/openwrt/driver.ts';
import { benchOf, NEVER, shown, type Bench } from './bench.ts';
import { paths, simulatedPaths } from './paths.ts';
import type { Promised, WritePath } from './target.ts';

const able = (promised: Promised, among = paths): readonly WritePath[] =>
  among.filter(({ cannot }) => cannot[promised] === undefined);
const unable = (promised: Promised, among = paths): readonly WritePath[] =>
  among
    .filter(({ cannot }) => cannot[promised] !== undefined)
    .map((path) => ({ ...path, name: `${path.name}: since ${path.cannot[promised]}` }));

/**
 * A set with a value that no OpenWRT takes is refused by the section's name, and no section of
 * others is touched.
 */
const refusedFor = async (
  { bring, expectBrought, foreign }: Bench,
  { fixture: { rule, text } }: WritePath,
  value: string,
): Promise<void> => {
  const culprit = text('c', value);
  await expectBrought([rule('a')]);
  const before = await foreign();
  const result = await bring([rule('a'), rule('b'), culprit, rule('d')]);
  expect(result).toMatchObject({ outcome: 'rejected', sections: [culprit.name] });
  expect(await foreign()).toEqual(before);
};
const REFUSED = [
  ['a control character', 'a\x07'],
  ['a NUL', 'a\0b'],
  ['half a character', '\ud800'],
] as const;

/**
 * Names two of three sections. Gives the package as the driver then says it is, and which names
 * they got.
 */
const nameTwo = async (
  { driver, expectBrought }: Bench,
  { fixture: { package: name, rule } }: WritePath,
) => {
  const sections = [rule('a', { src_ip: '10.0.0.1' }), rule('b'), rule('c')];
  await expectBrought(sections);
  const renames = ['a', 'b'].flatMap((each, at) => {
    const section = sections[at];
    return section ? [{ package: name, section, name: rule(`${each}2`).name }] : [];
  });
  const result = await driver().rename(renames, NEVER);
  return { observed: result.outcome === 'done' ? result.observed.get(name) : undefined, sections };
};

describe.each(able('other names'))('gives sections other names: $name', (path) => {
  const { fixture } = path;
  const { rule, isOurs } = fixture;
  const bench = benchOf(path);
  const { target, driver } = bench;
  it('keeps them in their places, with nothing else of them changed', async () => {
    const { observed, sections } = await nameTwo(bench, path);
    const names = ['a2', 'b2', 'c'].map((name) => rule(name).name);
    expect(observed?.sections.filter(isOurs)).toEqual(
      sections.map((section, at) => ({ ...section, name: names[at] })),
    );
    expect((await driver().read(NEVER)).packages.get(fixture.package)).toEqual(observed);
    const seen = (await target().sections(fixture.package)).filter(isOurs);
    expect(seen.map(({ name }) => name)).toEqual(names);
    await bench.expectBrought([rule('a2'), rule('c')]);
  });
});

describe.each(unable('other names'))('calls sections by other names: $name', (path) => {
  const { fixture } = path;
  const { rule, isOurs } = fixture;
  const bench = benchOf(path);
  const { target, driver, expectBrought } = bench;
  it('keeps them by itself, until they are written anew', async () => {
    const { observed, sections } = await nameTwo(bench, path);
    const names = ['a2', 'b2', 'c'].map((name) => rule(name).name);
    expect(observed?.sections.filter(isOurs).map(({ name }) => name)).toEqual(names);
    expect((await driver().read(NEVER)).packages.get(fixture.package)).toEqual(observed);
    const seen = (await target().sections(fixture.package)).filter(isOurs);
    expect(seen.map(({ name }) => name)).toEqual(sections.map(({ name }) => name));
    await expectBrought([rule('a2'), rule('c')]);
  });
});

describe.each(able('all or nothing'))('all or nothing: $name', (path) => {
  const { rule } = path.fixture;
  const bench = benchOf(path);
  it.each(REFUSED)('leaves all as it was for a value with %s', async (_what, value) => {
    await refusedFor(bench, path, value);
    expect(await bench.ours()).toEqual([shown(rule('a'))]);
    await bench.expectBrought([rule('a'), rule('b')]);
  });
});

describe.each(unable('all or nothing'))('not all or nothing: $name', (path) => {
  const { rule, text } = path.fixture;
  const bench = benchOf(path);
  it.each(REFUSED)('leaves what came before a value with %s', async (_what, value) => {
    await refusedFor(bench, path, value);
    const culprit = text('c', value).name;
    const left = (await bench.ours()).filter(({ name }) => name !== culprit);
    expect(left).toEqual([rule('a'), rule('b')].map(shown));
    await bench.expectBrought([rule('b'), rule('d')]);
  });
});

describe.each(able('any text'))('any text: $name', (path) => {
  const { expectBrought } = benchOf(path);
  it('also with blanks at its ends', async () => {
    await expectBrought([path.fixture.rule('a'), path.fixture.text('b', '  blanks  ')]);
  });
});

describe.each(unable('any text'))('not any text: $name', (path) => {
  const { bring } = benchOf(path);
  it('refuses blanks at its ends, by the section', async () => {
    const blank = path.fixture.text('b', '  blanks  ');
    expect(await bring([path.fixture.rule('a'), blank])).toMatchObject({
      outcome: 'rejected',
      sections: [blank.name],
    });
  });
});

/** Another client makes `other` between the reading and the writing. */
const bringLate = async ({ driver, target, bring }: Bench, { fixture: { rule } }: WritePath) => {
  const { packages } = await driver().read(NEVER);
  await bring([rule('other')], { driver: target().driver() });
  return bring([rule('a')], { packages });
};

describe.each(able('a change since it was read'))('sees what changed: $name', (path) => {
  const bench = benchOf(path);
  it('does not write over what others have changed since it was read', async () => {
    await expect(bringLate(bench, path)).rejects.toBeInstanceOf(OpenwrtBlockedError);
    expect(await bench.ours()).toEqual([shown(path.fixture.rule('other'))]);
  });
});

describe.each(unable('a change since it was read'))('sees no change: $name', (path) => {
  const { rule } = path.fixture;
  const bench = benchOf(path);
  it('writes beside what others have made since it was read', async () => {
    expect(await bringLate(bench, path)).toMatchObject({ outcome: 'done' });
    expect(await bench.ours()).toEqual([rule('other'), rule('a')].map(shown));
  });
});

const breakTwo = ({ hands }: Bench): void => {
  hands().remove('ipsec');
  hands().write('mwan3', "config policy 'open\n");
};

describe.each(able('an unusable package', simulatedPaths))('unusable packages: $name', (path) => {
  const bench = benchOf(path);
  it('are left out, and of one that does not parse it says why', async () => {
    breakTwo(bench);
    const { packages, unusable } = await bench.driver().read(NEVER);
    const left = [...packages.keys()].filter((name) => ['ipsec', 'mwan3'].includes(name));
    expect(left).toEqual([]);
    expect([...unusable.keys()]).toEqual(['mwan3']);
  });
});

describe.each(unable('an unusable package', simulatedPaths))('unusable packages: $name', (path) => {
  const bench = benchOf(path);
  it('are left alone, and what would go there is refused by its name', async () => {
    breakTwo(bench);
    await bench.driver().read(NEVER);
    const options = { policy: 'p', proto: 'tcp' };
    const append = [{ name: 'r', anonymous: false, type: 'rules', options }];
    const delta = { package: 'mwan3/rules', remove: [], set: [], append };
    expect(await bench.driver().apply([delta], NEVER)).toMatchObject({
      outcome: 'rejected',
      sections: ['r'],
    });
    expect(bench.hands().text('mwan3')).toBe("config policy 'open\n");
    await bench.expectBrought([path.fixture.rule('a')]);
  });
});

const NO_DEFAULTS = "\nconfig zone\n\toption name 'lan'\n\n";

describe.each(able('a firewall without defaults', simulatedPaths))('defaults: $name', (path) => {
  const { driver, hands } = benchOf(path);
  it('are missed in a firewall that would drop everything, which it leaves alone', async () => {
    hands().write('firewall', NO_DEFAULTS);
    const { packages, unusable } = await driver().read(NEVER);
    expect(packages.has('firewall')).toBe(false);
    expect(unusable.get('firewall')).toContain('defaults');
  });
});

describe.each(unable('a firewall without defaults', simulatedPaths))('defaults: $name', (path) => {
  const { hands, expectBrought } = benchOf(path);
  it('are not missed', async () => {
    hands().write('firewall', NO_DEFAULTS);
    await expectBrought([path.fixture.rule('a')]);
  });
});
