import { describe, expect, it } from 'vitest';
import { ageOf } from './age.ts';
import { coloured } from './colour.ts';
import { forTerminal, table } from './table.ts';

describe('a table', () => {
  it('has plain columns, and no blanks at the end of a line', () => {
    expect(
      table(
        ['NAME', 'AGE', 'NOTE'],
        [
          ['a', '1m', ''],
          ['longer-name', '12d', 'x'],
        ],
      ),
    ).toBe('NAME          AGE   NOTE\na             1m\nlonger-name   12d   x\n');
  });

  it('lines up wide characters', () => {
    expect(
      table(
        ['A', 'B'],
        [
          ['日本', 'x'],
          ['abc', 'y'],
        ],
      ),
    ).toBe('A      B\n日本   x\nabc    y\n');
  });

  it('shows what a terminal would act on', () => {
    expect(table(['A'], [['one\ntwo \u001B[31mred\u202E']])).toBe(
      'A\none two \\u001b[31mred\\u202e\n',
    );
  });
});

describe('what goes to a terminal', () => {
  it('has whole lines and our own styles, and nothing else that a terminal would act on', () => {
    const text = coloured('NAME   STATE\na\tInSync\n✗ b\n    cause: c\n');
    expect(text).toContain('\u001B[1m');
    expect(forTerminal(text)).toBe(text);
    expect(forTerminal('\u001B]0;title\u0007\u001B[2J\u001B[8mhidden\u009B1m\rover\u202E')).toBe(
      '\\u001b]0;title\\u0007\\u001b[2J\\u001b[8mhidden\\u009b1m\\u000dover\\u202e',
    );
  });
});

const NOW = Date.parse('2026-01-10T00:00:00Z');

// As kubectl's HumanDuration has it.
it.each([
  ['2026-01-10T00:00:00Z', '0s'],
  ['2026-01-10T00:00:05Z', '0s'],
  ['2026-01-09T23:58:01Z', '119s'],
  ['2026-01-09T23:58:00Z', '2m'],
  ['2026-01-09T23:57:30Z', '2m30s'],
  ['2026-01-09T23:45:30Z', '14m'],
  ['2026-01-09T21:00:01Z', '179m'],
  ['2026-01-09T20:30:00Z', '3h30m'],
  ['2026-01-09T02:30:00Z', '21h'],
  ['2026-01-06T23:00:00Z', '3d1h'],
  ['2026-01-01T00:00:00Z', '9d'],
  ['never', '<unknown>'],
  [undefined, '<unknown>'],
])('prints the age of %s as %s', (moment, age) => {
  expect(ageOf(moment, NOW)).toBe(age);
});
