/**
 * Our reading and writing of UCI against the simulator's, which was written apart from it after libuci: whatever we write
 * reads there as we meant it, and texts that nobody wrote on purpose are read or refused alike. `FC_RUNS` sets the cases.
 */
import { applyDelta, deltaOf } from '#shared/uci/delta.ts';
import { formatDeltaFile, formatPackage } from '#shared/uci/format.ts';
import type { UciPackage } from '#shared/uci/model.ts';
import { parsePackage } from '#shared/uci/parse.ts';
import { anyPackage, storable } from '#shared/uci/testing.ts';
import * as fc from 'fast-check';
import { expect, it } from 'vitest';
import { readUci } from '../judge/uci.ts';
import { toBytes } from '../openwrt-simulator/bytes.ts';
import { applyDelta as applyStaged } from '../openwrt-simulator/uci/delta.ts';
import * as simulator from '../openwrt-simulator/uci/text.ts';

const RUNS = { numRuns: Number(process.env['FC_RUNS'] ?? 1_000) };

/** The simulator keeps text as libuci does, one character per byte. */
const fromBytes = (bytes: string): string => Buffer.from(bytes, 'latin1').toString('utf8');

const judged = ({ sections }: UciPackage) =>
  sections.map(({ name, type, options }) => ({ name, type, options }));

it('a delta file brings a package to what is wanted, whatever the values hold', () => {
  fc.assert(
    fc.property(anyPackage, anyPackage, (observed, { sections: desired }) => {
      const delta = deltaOf({ observed, desired, isOurs: ({ name }) => /[a-m0-4]$/i.test(name) });
      const staged = simulator.parsePackage('firewall', toBytes(formatPackage(observed)));
      const foreign = new Set(
        observed.sections.map(({ name }) => name).filter((name) => !/[a-m0-4]$/i.test(name)),
      );
      fc.pre(!desired.some(({ name }) => foreign.has(name)));
      applyStaged(staged, toBytes(formatDeltaFile(delta)));
      const after = readUci(fromBytes(simulator.formatPackage(staged)));
      expect(after).toEqual(judged(applyDelta(observed, delta)));
    }),
    RUNS,
  );
});

it('a package is written byte for byte as the device writes it', () => {
  fc.assert(
    fc.property(anyPackage, (uciPackage) => {
      const bytes = toBytes(formatPackage(uciPackage));
      const theirs = simulator.parsePackage('firewall', bytes);
      expect(simulator.formatPackage(theirs)).toBe(bytes);
    }),
    RUNS,
  );
});

/** Pieces of which texts are made that are nearly UCI. */
const pieces = fc.oneof(
  fc.constantFrom('config', 'option', 'list', 'package', 'c', 'o', 'l', 'p', 'nonsense'),
  fc.constantFrom(' ', '\t', '\n', '\n', '\r\n', ';', '#', '\\', '\\\n', "'", '"', "''", '=', '-'),
  fc.constantFrom('rule', 'zone', 'name', 'a-b', 'a.b', 'x'),
  storable,
);
const nearlyUci = fc.array(pieces, { maxLength: 24 }).map((parts) => parts.join(''));
const statements = fc
  .array(
    fc.tuple(fc.constantFrom('config', 'option', 'list'), fc.array(pieces, { maxLength: 4 })),
    { maxLength: 8 },
  )
  .map((lines) => lines.map(([command, parts]) => `${command} ${parts.join(' ')}\n`).join(''));

const ours = (text: string) => {
  try {
    return parsePackage('firewall', text).sections;
  } catch {
    return 'refused';
  }
};
const theirs = (text: string) => {
  try {
    return simulator.parsePackage('firewall', toBytes(text)).sections.map((section) => ({
      name: section.name,
      anonymous: section.anonymous,
      type: fromBytes(section.type),
      options: Object.fromEntries(
        [...section.options].map(([option, value]) => [
          option,
          typeof value === 'string' ? fromBytes(value) : value.map(fromBytes),
        ]),
      ),
    }));
  } catch {
    return 'refused';
  }
};

it('texts that are nearly UCI are read or refused alike', () => {
  fc.assert(
    fc.property(
      fc.oneof(
        nearlyUci,
        statements,
        statements.map((text) => `config rule r\n${text}`),
      ),
      (text) => {
        expect(ours(text)).toEqual(theirs(text));
      },
    ),
    RUNS,
  );
});
