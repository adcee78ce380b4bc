/** Generators of UCI for property tests. */
import * as fc from 'fast-check';
import type { UciPackage, UciSection } from './model.ts';
import { isUciValue } from './names.ts';

export const uciNames = fc.stringMatching(/^[A-Za-z0-9_]{1,12}$/);

/** Of any character. fast-check's own unit `binary` takes a second of CPU to be made. */
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
