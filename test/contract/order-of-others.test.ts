/**
 * Whatever is written, and in whichever way: the sections of others stay in the order in which they
 * were, those between ours included, where an administrator has put some there.
 */
import { describe, expect, it } from 'vitest';
import type { UciSection } from '#shared/uci/model.ts';
import { readUci, type DeviceSection } from '../openwrt/checks/uci.ts';
import { benchOf } from './conformance/bench.ts';
import { simulatedPaths } from './conformance/paths.ts';
import type { WritePath } from './conformance/target.ts';

/** With a login of its own, changes of over 3,000 sections are imported. */
const [fast, ...others] = simulatedPaths;
if (fast === undefined) throw new Error('no paths');
const ways: (WritePath & { filler: number })[] = [
  { ...fast, filler: 0 },
  { ...fast, name: `${fast.name}, by imports`, filler: 3_001 },
  ...others.map((path) => ({ ...path, filler: 0 })),
];

const isOfTheSuite = ({ name, options }: DeviceSection): boolean =>
  [name, options['name']].some((text) => text?.includes('conformance') ?? false);

/** One without a name and one with, behind each of our first sections. */
const betweenOurs = (text: string): string => {
  let count = 0;
  return text
    .split(/(?=\nconfig )/)
    .map((section) => {
      if (!section.includes('conformance') || count === 3) return section;
      count += 1;
      const rule = (name: string): string =>
        `\nconfig rule${name}\n\toption name 'Between-${count}'\n\toption src 'lan'\n\toption dest_port '${9_000 + count}'\n\toption proto 'tcp'\n\toption target 'ACCEPT'\n`;
      return `${section.trimEnd()}\n${rule('')}${rule(` 'between_${count}'`)}`;
    })
    .join('');
};

describe.each(ways)('$name', (way) => {
  const { rule } = way.fixture;
  const { hands, bring } = benchOf(way);
  const foreign = (): DeviceSection[] =>
    readUci(hands().text('firewall')).filter((section) => !isOfTheSuite(section));
  const filler = (port: string): UciSection[] =>
    Array.from({ length: way.filler }, (_, index) => rule(`f${index}`, { src_port: port }));

  it('keeps the order of others', async () => {
    const [a, b, c, d] = [rule('a'), rule('b'), rule('c'), rule('d')];
    await bring([a, b, c, ...filler('1')]);
    hands().write('firewall', betweenOurs(hands().text('firewall')));
    const before = foreign();
    expect(before.filter(({ name }) => name?.startsWith('between_'))).toHaveLength(3);
    const changed = rule('b', { src_port: '81' });
    for (const desired of [
      [a, changed, c, ...filler('2')],
      [c, a, changed, ...filler('3')],
      [d, c, changed, ...filler('4')],
      [],
    ]) {
      expect(await bring(desired)).toMatchObject({ outcome: 'done' });
      expect(foreign()).toEqual(before);
    }
  });
});
