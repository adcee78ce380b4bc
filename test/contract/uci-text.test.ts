/**
 * Our reading and writing of UCI against the simulator's, which was written apart from it after
 * libuci: whatever we write reads the same there, and random texts are read or refused alike.
 */
import { compile } from '#shared/compile/compile.ts';
import { inputOf, ruleOf } from '#shared/compile/testing.ts';
import { deviceFiles } from '#shared/resources/device-files.ts';
import { caseCount } from '#shared/runtime/testing.ts';
import { applyDelta, deltaOf } from '#shared/uci/delta.ts';
import { formatDeltaFile, formatPackage } from '#shared/uci/format.ts';
import type { UciPackage } from '#shared/uci/model.ts';
import { parsePackage } from '#shared/uci/parse.ts';
import { anyPackage, anyText, nearlyUci } from '#shared/uci/testing.ts';
import * as fc from 'fast-check';
import { expect, it } from 'vitest';
import { readUci } from '../openwrt/checks/uci.ts';
import { toBytes } from '../openwrt/simulator/bytes.ts';
import { applyDelta as applyStaged } from '../openwrt/simulator/uci/delta.ts';
import * as simulator from '../openwrt/simulator/uci/text.ts';

const RUNS = { numRuns: caseCount(1_000) };

/** The simulator keeps text as libuci does, one character per byte. */
const fromBytes = (bytes: string): string => Buffer.from(bytes, 'latin1').toString('utf8');

const judged = ({ sections }: UciPackage) =>
  sections.map(({ name, type, options }) => ({ name, type, options }));

it('brings a package to what is wanted by a delta file, whatever the values hold', () => {
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

it('writes a package byte for byte as the device writes it', () => {
  fc.assert(
    fc.property(anyPackage, (uciPackage) => {
      const bytes = toBytes(formatPackage(uciPackage));
      const theirs = simulator.parsePackage('firewall', bytes);
      expect(simulator.formatPackage(theirs)).toBe(bytes);
    }),
    RUNS,
  );
});

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
    fc.property(nearlyUci, (text) => {
      expect(ours(text)).toEqual(theirs(text));
    }),
    RUNS,
  );
});

/**
 * Whatever a user can put into a CR: text of any kind in fields that take text, and in those that
 * do not.
 */
const hostile = fc.oneof(
  fc.string({ maxLength: 40 }),
  anyText,
  fc
    .array(
      fc.oneof(
        fc.constantFrom(
          "'",
          '"',
          '\\',
          '\n',
          '\0',
          '$(reboot)',
          '`',
          ';',
          '#',
          ' ',
          '\t',
          '{',
          '}',
        ),
        fc.constantFrom(
          '\nconfig rule evil\n',
          "'\n\toption target ACCEPT\n",
          'firewall.x=y',
          '🦔',
        ),
        fc.string({ maxLength: 6 }),
      ),
      { maxLength: 8 },
    )
    .map((parts) => parts.join('')),
);

it("keeps a CR's values in their options, whatever they hold", () => {
  let applied = 0;
  fc.assert(
    fc.property(hostile, hostile, hostile, (first, second, third) => {
      const rules = [
        ruleOf('FirewallRule', 'rule', { src: '*', target: 'DROP', extra: first, name: second }),
        ruleOf('FirewallRule', 'marks', { src: '*', target: 'MARK', set_mark: third }),
        ruleOf('IpsecProposal', 'p', { encryption_algorithm: 'aes256', hash_algorithm: 'sha256' }),
        ruleOf('IpsecHost', 'host', {
          remote: 'vpn.example.com',
          authentication_method: 'psk',
          crypto_proposal: ['p'],
          pre_shared_key: first,
          local_identifier: second,
          connections: [{ name: 'c', conn_type: 'tunnel', mode: 'start', local_updown: third }],
        }),
      ];
      for (const [name, sections] of compile(inputOf(rules)).desired) {
        // No package of UCI.
        if (name === deviceFiles.name) continue;
        applied += sections.length;
        const text = formatPackage({ name, sections });
        const theirs = fromBytes(
          simulator.formatPackage(simulator.parsePackage(name, toBytes(text))),
        );
        expect(readUci(theirs)).toEqual(judged({ name, sections }));
        const delta = { package: name, remove: [], set: [], append: sections };
        const staged = simulator.parsePackage(name, toBytes('\nconfig foreign\n'));
        applyStaged(staged, toBytes(formatDeltaFile(delta)));
        const [foreign, ...others] = readUci(fromBytes(simulator.formatPackage(staged)));
        expect(foreign).toEqual({ name: undefined, type: 'foreign', options: {} });
        expect(others).toEqual(judged({ name, sections }));
      }
    }),
    RUNS,
  );
  // Else everything was refused, and nothing was tried.
  expect(applied).toBeGreaterThan(RUNS.numRuns);
});
