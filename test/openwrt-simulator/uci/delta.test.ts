import { expect, test } from 'vitest';
import { applyDelta, formatChange } from './delta.ts';
import { formatPackage, parsePackage } from './text.ts';

const BASE = "\nconfig rule 'a'\n\toption x '1'\n\nconfig rule 'b'\n\n";
const after = (delta: string): { text: string; made: number; shown: string } => {
  const uciPackage = parsePackage('p', BASE);
  const { staged, made } = applyDelta(uciPackage, delta);
  return {
    text: formatPackage(uciPackage),
    made,
    shown: staged.map((one) => formatChange('p', one)).join(''),
  };
};

test.each<[string, string, string]>([
  ['sets an option', "p.a.x='2'\n", BASE.replace('1', '2')],
  [
    'adds a section at the end',
    "p.c='zone'\np.c.n='it'\\''s'\n",
    BASE.replace(/\n$/, "\nconfig zone 'c'\n\toption n 'it'\\''s'\n\n"),
  ],
  [
    'makes lists',
    "|p.b.l='1'\n|p.b.l='2'\n",
    BASE.replace("'b'\n", "'b'\n\tlist l '1'\n\tlist l '2'\n"),
  ],
  ['removes sections', '-p.a\n', "\nconfig rule 'b'\n\n"],
  ['removes options', '-p.a.x\n', BASE.replace("\toption x '1'\n", '')],
  ['moves sections', "^p.b='0'\n", "\nconfig rule 'b'\n\nconfig rule 'a'\n\toption x '1'\n\n"],
  ['renames', "@p.a='z'\n", BASE.replace("'a'", "'z'")],
  [
    'adds anonymous sections',
    "+p.cfg01='rule'\np.cfg01.y='2'\n",
    BASE.replace(/\n$/, "\nconfig rule\n\toption y '2'\n\n"),
  ],
  ['deletes an option by an empty value', "p.a.x=''\n", BASE.replace("\toption x '1'\n", '')],
])('%s', (_, delta, expected) => {
  expect(after(delta).text).toBe(expected);
  expect(after(delta).shown).toBe(delta);
});

test.each<[string, string]>([
  ['another package', "q.a.x='2'\n"],
  ['a section name with a dash', "p.a-b='rule'\n"],
  ['an option name with a dash', "p.a.b-c='1'\n"],
  ['a control character', "p.a.x='\u0001'\n"],
  ['no line of a delta', 'not a delta line\n'],
  ['a set without value', 'p.a.x\n'],
])('skips %s, and does not show it', (_, delta) => {
  expect(after(delta)).toEqual({ text: BASE, made: 0, shown: '' });
});

test('shows what it could read but not make', () => {
  expect(after("p.none.x='1'\n-p.never\n")).toEqual({
    text: BASE,
    made: 0,
    shown: "p.none.x='1'\n-p.never\n",
  });
});

test('an open quote swallows the lines after it', () => {
  expect(after("p.a.x='open\np.c='rule'\np.d='rule'\n")).toMatchObject({ text: BASE, made: 0 });
});

test('a delta that was cut in a value keeps what stands before', () => {
  expect(after("p.c='rule'\np.c.x='c").text).toBe(BASE.replace(/\n$/, "\nconfig rule 'c'\n\n"));
});
