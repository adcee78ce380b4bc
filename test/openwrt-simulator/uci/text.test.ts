import * as fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { UciPackage } from './package.ts';
import { formatPackage, parsePackage } from './text.ts';

describe('parsing', () => {
  test.each<[string, string, string]>([
    [
      'plain words and tabs',
      'config rule\n\toption name\t\tr1\n',
      "\nconfig rule\n\toption name 'r1'\n\n",
    ],
    [
      'comments',
      "# c\nconfig rule 'a' # c\n\toption x 'y' # c\n",
      "\nconfig rule 'a'\n\toption x 'y'\n\n",
    ],
    [
      'a value over two lines',
      "config rule 'a'\n\toption x 'y\nz'\n",
      "\nconfig rule 'a'\n\toption x 'y\nz'\n\n",
    ],
    [
      'a quote in a value',
      "config rule 'a'\n\toption x 'it'\\''s'\n",
      "\nconfig rule 'a'\n\toption x 'it'\\''s'\n\n",
    ],
    [
      'double quotes with escapes',
      'config rule \'a\'\n\toption x "y\\"z"\n',
      "\nconfig rule 'a'\n\toption x 'y\"z'\n\n",
    ],
    [
      'several commands on a line',
      "config rule 'a'; option x y\n",
      "\nconfig rule 'a'\n\toption x 'y'\n\n",
    ],
    ['a package line', "package network\n\nconfig rule 'a'\n", "\nconfig rule 'a'\n\n"],
    ['an option without value', "config rule 'a'\n\toption x", "\nconfig rule 'a'\n\n"],
    [
      'the same section twice',
      "config rule 'a'\n\toption x '1'\nconfig rule 'a'\n\toption y '2'\n",
      "\nconfig rule 'a'\n\toption x '1'\n\toption y '2'\n\n",
    ],
    ['nothing', '', '\n'],
  ])('%s', (_, text, expected) => {
    expect(formatPackage(parsePackage('p', text))).toBe(expected);
  });

  test.each<[string, string, string]>([
    [
      'an open quote',
      "config zone 'z1'\n\toption name 'unterminated\n",
      "EOF with unterminated ') at line 2, byte 27",
    ],
    ['an unknown command', 'confg rule\n', 'invalid command'],
    [
      'an option before any section',
      "option x 'y'\n",
      'option/list command found before the first section',
    ],
    ['a name with a dash', "config rule 'a-b'\n", 'invalid character in name field'],
    ['too many words', "config rule 'a' 'b'\n", 'too many arguments'],
    ['a quote in a type', "\nconfig ru'\\''le 'u'\n", 'unterminated'],
  ])('refuses %s', (_, text, message) => {
    expect(() => parsePackage('p', text)).toThrow(message);
  });
});

const bytes = (min: number): fc.Arbitrary<string> =>
  fc
    .array(fc.integer({ min: 1, max: 255 }), { minLength: min, maxLength: 20 })
    .map((codes) => String.fromCharCode(...codes));
const name = fc.stringMatching(/^[a-z_][a-z0-9_]{0,8}$/);

test('what is written is read back', () => {
  const section = fc.record({
    type: name,
    name,
    options: fc.dictionary(name, fc.oneof(bytes(1), fc.array(bytes(0), { minLength: 1 }))),
  });
  fc.assert(
    fc.property(fc.uniqueArray(section, { selector: (one) => one.name }), (sections) => {
      const written = new UciPackage('p');
      for (const { type, name: id, options } of sections) {
        const made = written.append(type, id);
        for (const [option, value] of Object.entries(options)) made.options.set(option, value);
      }
      const text = formatPackage(written);
      expect(parsePackage('p', text).sections).toEqual(written.sections);
      expect(formatPackage(parsePackage('p', text))).toBe(text);
    }),
  );
});
