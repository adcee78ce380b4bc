/** Generators of UCI for property tests. */
import * as fc from 'fast-check';
import type { UciPackage, UciSection } from './model.ts';
import { isUciValue } from './names.ts';

export const uciNames = fc.stringMatching(/^[A-Za-z0-9_]{1,12}$/);

/** Text of any characters. fast-check's own unit `binary` takes a second of CPU to be made. */
export const anyText: fc.Arbitrary<string> = fc.string({
  unit: fc
    .integer({ min: 0, max: 0x10_ff_ff })
    .filter((code) => code < 0xd8_00 || code > 0xdf_ff)
    .map((code) => String.fromCodePoint(code)),
  maxLength: 40,
});

/** Values that UCI can hold, hostile ones among them. */
export const storable: fc.Arbitrary<string> = fc
  .oneof(
    fc.string({ minLength: 1, unit: 'grapheme' }),
    fc.string({
      minLength: 1,
      unit: fc.constantFrom("'", '"', '\\', ' ', '#', ';', '$', '`', '(', ')', '=', '-', 'a', 'é'),
    }),
  )
  .filter(isUciValue);

export const anySection: fc.Arbitrary<UciSection> = fc.record({
  name: uciNames,
  anonymous: fc.constant(false),
  type: fc.constantFrom('rule', 'zone', 'redirect'),
  options: fc.dictionary(
    uciNames,
    fc.oneof(storable, fc.array(storable, { minLength: 1, maxLength: 4 })),
    { maxKeys: 5, noNullPrototype: true },
  ),
});

/** A package of named sections. */
export const anyPackage: fc.Arbitrary<UciPackage> = fc.record({
  name: fc.constant('firewall'),
  sections: fc.uniqueArray(anySection, { selector: ({ name }) => name, maxLength: 8 }),
});

/** Pieces of which texts are made that are nearly UCI. */
const pieces = fc.oneof(
  fc.constantFrom('config', 'option', 'list', 'package', 'c', 'o', 'l', 'p', 'nonsense'),
  fc.constantFrom(' ', '\t', '\n', '\n', '\r\n', ';', '#', '\\', '\\\n', "'", '"', "''", '=', '-'),
  fc.constantFrom('rule', 'zone', 'name', 'a-b', 'a.b', 'x'),
  storable,
);
const statements = fc
  .array(
    fc.tuple(fc.constantFrom('config', 'option', 'list'), fc.array(pieces, { maxLength: 4 })),
    { maxLength: 8 },
  )
  .map((lines) => lines.map(([command, parts]) => `${command} ${parts.join(' ')}\n`).join(''));

/** Texts that libuci reads, and texts that it nearly reads. */
export const nearlyUci: fc.Arbitrary<string> = fc.oneof(
  fc.array(pieces, { maxLength: 24 }).map((parts) => parts.join('')),
  statements,
  statements.map((text) => `config rule r\n${text}`),
);
