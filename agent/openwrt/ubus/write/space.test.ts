import * as fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { namedSection } from '#shared/compile/testing.ts';
import { deltaOf } from '#shared/uci/delta.ts';
import { formatDeltaFile, formatPackage } from '#shared/uci/format.ts';
import type { UciPackage, UciSection } from '#shared/uci/model.ts';
import { OpenwrtBlockedError } from '../../driver.ts';
import { assertSpace, type Space } from './space.ts';

const rule = (at: number, port = '80'): UciSection =>
  namedSection('rule', `sdewan_rule_${at}`, {
    src: 'lan',
    dest_port: port,
    proto: ['tcp', 'udp'],
    src_ip: `10.0.${at >> 8}.${at & 255}`,
  });
const firewall = (sections: readonly UciSection[]): UciPackage => ({ name: 'firewall', sections });
const ROOM: Space = { config: Infinity, tmp: Infinity };

const attempt = (space: Space, was: readonly UciSection[], will: readonly UciSection[]) => {
  const delta = deltaOf({ observed: firewall(was), desired: will, isOurs: () => true });
  const before = new Map([['firewall', firewall(was)]]);
  const after = new Map([['firewall', firewall(will)]]);
  return { delta, check: () => assertSpace(space, { deltas: [delta], before, after }) };
};
const rules = (count: number, port?: string) =>
  Array.from({ length: count }, (_, at) => rule(at, port));

describe('a change', () => {
  it('passes when OpenWRT can write the file, and keep what it would go back to', () => {
    expect(attempt(ROOM, rules(10), rules(20)).check).not.toThrow();
  });

  it.each([
    [
      { config: 4_096, tmp: Infinity },
      '/etc/config of OpenWRT has 4 kB free, and the change needs 12 kB',
    ],
    [{ config: Infinity, tmp: 65_536 }, '/tmp of OpenWRT has 64 kB free, and the change needs'],
  ])('is refused with %j, and says why', (space, why) => {
    const { check } = attempt(space, rules(20), rules(20, '81'));
    expect(check).toThrow(OpenwrtBlockedError);
    expect(check).toThrow(why);
  });

  it('is never let through where the file, the copy that rpcd keeps or what is staged would be cut', () => {
    const counts = fc.integer({ min: 0, max: 60 });
    const text = fc.string({ unit: fc.constantFrom('a', 'é', "'", ' ', '9'), maxLength: 40 });
    fc.assert(
      fc.property(counts, counts, text, (was, will, name) => {
        const [old, next] = [rules(was), rules(will).map((one) => named(one, name))];
        const bytes = (sections: readonly UciSection[]): number =>
          Buffer.byteLength(formatPackage(firewall(sections)));
        const { delta } = attempt(ROOM, old, next);
        const staged = Buffer.byteLength(formatDeltaFile(delta));
        if (staged === 0) return;
        const config = bytes(next) + Math.max(0, bytes(next) - bytes(old)) - 1;
        const tmp = bytes(old) + 2 * staged - 1;
        expect(attempt({ ...ROOM, config }, old, next).check).toThrow('/etc/config');
        expect(attempt({ ...ROOM, tmp }, old, next).check).toThrow('/tmp');
      }),
    );
  });
});

const named = (section: UciSection, name: string): UciSection => ({
  ...section,
  options: { ...section.options, name },
});
