import { expect, it } from 'vitest';
import { namedSection } from '#shared/compile/testing.ts';
import type { UciSection } from '#shared/uci/model.ts';
import { othersEqual } from './comparison.ts';

const [a, b, asked, stored] = [
  namedSection('zone', 'a'),
  namedSection('zone', 'b'),
  namedSection('rule', 'r', { proto: 'tcp' }),
  namedSection('rule', 'r', { proto: 'udp' }),
];
const nameless = (input: string): UciSection => ({
  ...namedSection('zone', 'r', { input }),
  anonymous: true,
});
const delta = { package: 'firewall', remove: [], set: [{ before: a, after: asked }], append: [] };

it.each<[string, UciSection[], UciSection[], boolean]>([
  ['the same', [a, asked, b], [a, asked, b], true],
  ['the same beside another one that was asked for', [a, stored, b], [a, asked, b], true],
  ['the same at other places', [stored, a, b], [a, b, asked], true],
  ['fewer', [a, asked], [a, asked, b], false],
  ['more', [a, asked, b], [a, asked], false],
  ['another', [a, asked, a], [a, asked, b], false],
  ['another instead of one that was asked for', [a, b], [a, asked], false],
  ['another that has no name', [nameless('ACCEPT')], [nameless('DROP')], false],
])('finds what the delta does not name as %s', (_what, observed, expected, isSame) => {
  const [found, wanted] = [observed, expected].map((sections) => ({ name: 'firewall', sections }));
  expect(found && wanted && othersEqual({ inPassing: [] }, found, wanted, delta)).toBe(isSame);
});
