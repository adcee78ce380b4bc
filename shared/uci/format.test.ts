import * as fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { formatDeltaFile, formatPackage, formatRenames, UciFormatError } from './format.ts';
import type { UciSection } from './model.ts';
import { anyPackage, anySection, anyText, storable } from './testing.ts';
import { parsePackage } from './parse.ts';

describe('formatPackage', () => {
  it('writes as libuci exports', () => {
    const sections = [
      section('r', { name: "it's", proto: ['tcp', 'udp'], empty: '', none: [] }),
      { ...section('cfg02dc81', { input: 'DROP' }), type: 'zone', anonymous: true },
    ];
    expect(formatPackage({ name: 'firewall', sections })).toBe(
      `\nconfig rule 'r'\n\toption name 'it'\\''s'\n\tlist proto 'tcp'\n\tlist proto 'udp'\n\nconfig zone\n\toption input 'DROP'\n\n`,
    );
  });

  it('is read back as it was', () => {
    fc.assert(
      fc.property(anyPackage, (uciPackage) => {
        expect(parsePackage('firewall', formatPackage(uciPackage))).toEqual(uciPackage);
      }),
    );
  });

  it('lets no value break out of its option', () => {
    const text = anyText.filter((value) => value !== '' && !value.includes('\0'));
    fc.assert(
      fc.property(text, (value) => {
        const sections = [section('r', { a: value, b: 'end' })];
        const written = formatPackage({ name: 'firewall', sections });
        expect(parsePackage('firewall', written).sections).toEqual(sections);
      }),
    );
  });

  it('quotes a type that only libuci can hold', () => {
    const sections = [{ ...section('r', {}), type: 'a:b' }];
    expect(formatPackage({ name: 'firewall', sections })).toBe("\nconfig 'a:b' 'r'\n\n");
  });

  it.each(['nul\0', 'half \ud800'])('refuses what no file can hold: %j', (value) => {
    const sections = [section('r', { a: value })];
    const format = () => formatPackage({ name: 'firewall', sections });
    expect(format).toThrow(UciFormatError);
    expect(format).toThrow('a value has a NUL or is no Unicode text');
  });
});

it('formatRenames gives each section its other name, in a line', () => {
  const renames = ['a', 'b'].map((name) => ({
    package: 'p',
    section: section(name, {}),
    name: `${name}2`,
  }));
  expect(formatRenames(renames)).toBe("@p.a='a2'\n@p.b='b2'\n");
});

describe('formatDeltaFile', () => {
  it('writes the lines that rpcd takes (recording ubus-apply)', () => {
    const before = section('x', { a: '1', gone: ['2'] });
    const delta = {
      package: 'firewall',
      remove: ['old'],
      set: [{ before, after: section('x', { a: "it's", c: '3' }) }],
      append: [section('y', { l: ['4', '5'] })],
    };
    expect(formatDeltaFile(delta)).toBe(
      [
        '-firewall.old',
        '-firewall.x.a',
        '-firewall.x.gone',
        "firewall.x.a='it'\\''s'",
        "firewall.x.c='3'",
        "firewall.y='rule'",
        "|firewall.y.l='4'",
        "|firewall.y.l='5'",
        '',
      ].join('\n'),
    );
  });

  it('gives a section its new type before its options, which libuci refuses otherwise', () => {
    const before = { ...section('x', { a: '1' }), type: 'zone' };
    const set = [{ before, after: section('x', { a: '1' }) }];
    expect(formatDeltaFile({ package: 'firewall', remove: [], set, append: [] })).toBe(
      "firewall.x='rule'\n-firewall.x.a\nfirewall.x.a='1'\n",
    );
  });

  it('is empty when there is nothing to do', () => {
    expect(formatDeltaFile({ package: 'firewall', remove: [], set: [], append: [] })).toBe('');
  });

  it.each(['ctl \u0001', 'tab\t', 'nul\0', 'del\u007f', 'half \ud800'])(
    'refuses a value that libuci would skip or change: %j',
    (value) => {
      const delta = { package: 'p', remove: [], set: [], append: [section('y', { a: value })] };
      expect(() => formatDeltaFile(delta)).toThrow(UciFormatError);
      expect(() => formatDeltaFile(delta)).toThrow(
        /^a value has control characters or is no Unicode/,
      );
    },
  );

  it('has newlines in values, which libuci keeps', () => {
    const append = [section('y', { a: 'one\ntwo' })];
    expect(formatDeltaFile({ package: 'p', remove: [], set: [], append })).toContain("='one\ntwo'");
  });

  it.each([
    [{ remove: ['a-b'] }, '"a-b" is no UCI name'],
    [{ append: [{ ...section('y', {}), type: "ru'le" }] }, `"ru'le" is no UCI type`],
    [{ append: [section('y', { 'a.b': '1' })] }, '"a.b" is no UCI name'],
    [{ package: 'a/b', remove: ['x'] }, '"a/b" is no UCI name'],
  ])('refuses a name that libuci would skip: %j', (part, why) => {
    const delta = { package: 'p', remove: [], set: [], append: [], ...part };
    expect(() => formatDeltaFile(delta)).toThrow(UciFormatError);
    expect(() => formatDeltaFile(delta)).toThrow(why);
  });

  it('has each value in one line of its own, whatever it holds', () => {
    fc.assert(
      fc.property(anySection, storable, (base, value) => {
        const added = { ...base, options: { ...base.options, hostile: value } };
        const text = formatDeltaFile({ package: 'p', remove: [], set: [], append: [added] });
        const quoted = value.replaceAll("'", String.raw`'\''`);
        expect(text.split('\n')).toContain(`p.${base.name}.hostile='${quoted}'`);
      }),
    );
  });
});

const section = (name: string, options: UciSection['options']): UciSection => ({
  name,
  anonymous: false,
  type: 'rule',
  options,
});
