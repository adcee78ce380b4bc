import { describe, expect, it } from 'vitest';
import { namedSection } from '#shared/compile/testing.ts';
import type { UciPackage, UciSection } from '#shared/uci/model.ts';
import { expectationOf, howToSettle, NOTHING_UNCONFIRMED } from './unconfirmed.ts';
import type { Base, PackageState } from '../read/packages.ts';

const others = namedSection('rule', 'admin', { dest_port: '22' });
const ours = namedSection('rule', 'sdewan_rule_a', { dest_port: '80', src: 'lan' });
const packageOf = (...sections: UciSection[]): UciPackage => ({ name: 'firewall', sections });
const base = (version: string, content: UciPackage): Base => ({ version, content });
const wanted = packageOf(others, ours);
const expected = expectationOf([wanted], new Map([['firewall', base('md5', wanted)]]));
const found = (state: PackageState | undefined) =>
  howToSettle(expected, new Map(state ? [['firewall', state]] : []));
const read = (version: string, ...sections: UciSection[]) =>
  found({ state: 'read', version, content: packageOf(...sections) });

describe('an apply that was not confirmed', () => {
  it('is undone where the file is as the apply left it', () => {
    expect(read('md5', others, ours)).toBe('rollback');
  });

  it('is kept where another writer has changed the file', () => {
    const added = namedSection('rule', 'added', {});
    expect(read('other', others, ours, added)).toBe('keep');
    expect(read('other', ours)).toBe('keep');
    const { options } = ours;
    const turned = Object.fromEntries(Object.entries(options).toReversed());
    expect(read('other', { ...ours, options: turned })).toBe('keep');
  });

  it('is undone where the file has lost its end, is gone, or does not parse', () => {
    expect(read('other', others)).toBe('rollback');
    expect(read('other', others, { ...ours, options: { dest_port: '80' } })).toBe('rollback');
    const listed = { ...ours, options: { ...ours.options, proto: ['tcp', 'udp'] } };
    const cut = { ...ours, options: { ...ours.options, proto: ['tcp'] } };
    const before = expectationOf([packageOf(others, listed)], new Map());
    const state = { state: 'read', ...base('other', packageOf(others, cut)) } as const;
    expect(howToSettle(before, new Map([['firewall', state]]))).toBe('rollback');
    expect(found(undefined)).toBe('rollback');
    expect(found({ state: 'absent' })).toBe('rollback');
    expect(found({ state: 'unusable', version: 'v', why: 'broken' })).toBe('rollback');
  });

  it('is looked at again while the file is being written', () => {
    const writing = { state: 'unusable', version: 'v', why: 'it changes', passes: true } as const;
    expect(() => found(writing)).toThrow('settle the last change of firewall: it changes');
  });

  it('is kept where what OpenWRT would write was not known, and the end is there', () => {
    const unknown = expectationOf([wanted], new Map());
    const state = { state: 'read', ...base('any', wanted) } as const;
    expect(howToSettle(unknown, new Map([['firewall', state]]))).toBe('keep');
  });

  it('is undone where nothing is known of it', () => {
    expect(howToSettle(NOTHING_UNCONFIRMED, new Map())).toBe('rollback');
  });

  it('has no value on the disk, nor a digest of a file that holds a key', () => {
    const site = namedSection('remote', 'site', { pre_shared_key: 'planted' });
    const content: UciPackage = { name: 'ipsec', sections: [site] };
    const text = JSON.stringify(
      expectationOf([content], new Map([['ipsec', base('digest', content)]])),
    );
    expect(text).toContain('pre_shared_key');
    expect(text).not.toContain('planted');
    expect(text).not.toContain('digest');
  });
});
