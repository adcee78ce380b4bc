import { formatPackage } from '#shared/uci/format.ts';
import { anyPackage } from '#shared/uci/testing.ts';
import * as fc from 'fast-check';
import { expect, it } from 'vitest';
import { readUci } from '../openwrt/checks/uci.ts';

it('reads the same to a reader that is not ours', () => {
  fc.assert(
    fc.property(anyPackage, (uciPackage) => {
      expect(readUci(formatPackage(uciPackage))).toEqual(
        uciPackage.sections.map(({ name, type, options }) => ({ name, type, options })),
      );
    }),
  );
});
