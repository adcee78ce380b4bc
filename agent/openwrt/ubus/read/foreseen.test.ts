import { expect, it } from 'vitest';
import { namedSection } from '#shared/compile/testing.ts';
import { formatPackage } from '#shared/uci/format.ts';
import type { UciPackage } from '#shared/uci/model.ts';
import { parsePackage } from '#shared/uci/parse.ts';
import { foreseen } from './foreseen.ts';

const versionOf = formatPackage;
const read = parsePackage(
  'firewall',
  "config zone\n\toption name 'lan'\n\nconfig rule 'a'\n\nconfig zone\n",
);
const [lan, a, wan] = read.sections;
const of = (...sections: (UciPackage['sections'][number] | undefined)[]): UciPackage => ({
  name: 'firewall',
  sections: sections.flatMap((section) => section ?? []),
});

it.each<[string, UciPackage]>([
  ['a section that comes last', of(lan, a, wan, namedSection('rule', 'b', { proto: ['tcp'] }))],
  ['one less before an anonymous one, which has another name then', of(lan, wan)],
  ['an option that is empty', of(lan, namedSection('rule', 'a', { proto: [], name: '' }), wan)],
])('foresees a package as it will be read: %s', (_what, wanted) => {
  const state = foreseen({ versionOf }, wanted, read);
  expect(state?.content).toEqual(parsePackage('firewall', state?.version ?? ''));
});

it('names an anonymous section by its place also where it was read with another name', () => {
  const otherwise = of(lan && { ...lan, name: 'cfg99' });
  expect(foreseen({ versionOf }, otherwise, otherwise)?.content).toEqual(of(lan));
});

it('reads what we do not write, and what has no version of its text', () => {
  const odd = of(namedSection('rule', 'a', { name: 'a\0' }));
  expect(foreseen({ versionOf }, odd)).toBeUndefined();
  expect(foreseen({}, of(lan))).toBeUndefined();
});
