import * as fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import type { UciPackage, UciSection } from '#shared/uci/model.ts';
import { sectionsEqual } from '#shared/uci/delta.ts';
import { icnDeltaOf, TIDIED_AT_ONCE } from './delta.ts';
import { isOrderFree } from './overlap.ts';

const RULES = 'firewall/rules';
const rule = (name: string, options: UciSection['options'] = {}): UciSection => ({
  name,
  anonymous: false,
  type: 'rules',
  options,
});
const content = (...sections: UciSection[]): UciPackage => ({ name: RULES, sections });

/** As the API does it: what is removed goes, what is written comes to the end. */
const carriedOut = (
  observed: UciPackage,
  desired: readonly UciSection[],
  isOurs: (s: UciSection) => boolean,
  quiet = false,
) => {
  const { remove, append } = icnDeltaOf({ observed, desired, isOurs, quiet });
  const gone = new Set(remove);
  return content(...observed.sections.filter(({ name }) => !gone.has(name)), ...append);
};

const everything = () => true;

describe('whether order matters', () => {
  const web = { src: 'lan', proto: 'tcp', dest_port: '80' };
  it.each<[string, UciSection['options'], UciSection['options'], boolean]>([
    ['the same verdict', { ...web, target: 'DROP' }, { target: 'DROP', src: 'lan' }, true],
    [
      'other verdicts on the same packets',
      { ...web, target: 'DROP' },
      { ...web, target: 'ACCEPT' },
      false,
    ],
    [
      'other ports',
      { ...web, target: 'DROP' },
      { ...web, dest_port: '81', target: 'ACCEPT' },
      true,
    ],
    [
      'other protocols',
      { ...web, target: 'DROP' },
      { ...web, proto: 'udp', target: 'ACCEPT' },
      true,
    ],
    [
      'no protocol, which is tcp and udp',
      { ...web, target: 'DROP' },
      { src: 'lan', target: 'ACCEPT' },
      false,
    ],
    ['other zones', { ...web, target: 'DROP' }, { ...web, src: 'wan', target: 'ACCEPT' }, true],
    ['other chains', { ...web, target: 'DROP' }, { ...web, dest: 'wan', target: 'ACCEPT' }, true],
    [
      'networks apart',
      { src: 'lan', src_ip: '10.0.0.0/8', target: 'DROP' },
      { src: 'lan', src_ip: '11.0.0.0/8', target: 'ACCEPT' },
      true,
    ],
    [
      'one network in the other',
      { src: 'lan', src_ip: '10.0.0.0/8', target: 'DROP' },
      { src: 'lan', src_ip: '10.1.2.3', target: 'ACCEPT' },
      false,
    ],
  ])('%s', (_what, a, b, free) => {
    expect(isOrderFree(RULES, rule('a', a), rule('b', b))).toBe(free);
    expect(isOrderFree(RULES, rule('b', b), rule('a', a))).toBe(free);
  });

  it('is not decided by an address that packets are translated to', () => {
    const dnat = (dest_ip: string) =>
      rule(dest_ip, { target: 'DNAT', src: 'wan', proto: 'tcp', src_dport: '80', dest_ip });
    expect(isOrderFree('firewall/redirects', dnat('10.0.0.1'), dnat('10.0.0.2'))).toBe(false);
  });

  it('is for policy rules of one place only', () => {
    const policy = (src: string, prio: string, table: string) => rule(src, { src, prio, table });
    expect(
      isOrderFree(
        'rule/rules',
        policy('10.0.0.0/8', '1', '40'),
        policy('10.1.0.0/16', '2', 'main'),
      ),
    ).toBe(true);
    expect(
      isOrderFree(
        'rule/rules',
        policy('10.0.0.0/8', '1', '40'),
        policy('10.1.0.0/16', '1', 'main'),
      ),
    ).toBe(false);
  });
});

describe('what is written', () => {
  const anySection = fc.record({
    target: fc.constantFrom('ACCEPT', 'DROP'),
    src: fc.constantFrom('lan', 'wan'),
    proto: fc.constantFrom('tcp', 'udp'),
    dest_port: fc.constantFrom('80', '443'),
  });
  const anyPackage = fc
    .uniqueArray(fc.tuple(fc.constantFrom('a', 'b', 'c', 'd', 'e', 'f'), anySection), {
      selector: ([name]) => name,
    })
    .map((list) => list.map(([name, options]) => rule(name, options)));
  const isOurs = ({ name }: UciSection): boolean => name < 'e';

  it('leaves wanted objects in an order with the same effect, and those of others as they were', () => {
    fc.assert(
      fc.property(anyPackage, anyPackage, (there, wanted) => {
        const observed = content(...there);
        const desired = wanted.filter(isOurs);
        const { sections } = carriedOut(observed, desired, isOurs);
        const ours = sections.filter(isOurs);
        expect(ours.map(({ name }) => name).sort()).toEqual(desired.map(({ name }) => name).sort());
        for (const section of desired) {
          const found = ours.find(({ name }) => name === section.name);
          expect(found && sectionsEqual(found, section)).toBe(true);
        }
        const others = there.filter((section) => !isOurs(section));
        expect(sections.filter((section) => !isOurs(section))).toEqual(others);
        const sequence = [...others, ...desired];
        const placeOf = (section: UciSection) =>
          sections.findIndex(({ name }) => name === section.name);
        for (const [at, first] of sequence.entries()) {
          for (const second of sequence.slice(at + 1)) {
            if (!isOurs(second) || isOrderFree(RULES, first, second)) continue;
            expect(placeOf(first)).toBeLessThan(placeOf(second));
          }
        }
        expect(icnDeltaOf({ observed: content(...sections), desired, isOurs })).toMatchObject({
          remove: [],
          append: [],
        });
      }),
    );
  });

  it('reaches the wanted order in quiet passes, and changes no effect in any of them', () => {
    fc.assert(
      fc.property(anyPackage, anyPackage, (there, wanted) => {
        const desired = wanted.filter(isOurs);
        const names = desired.map(({ name }) => name);
        let observed = carriedOut(content(...there), desired, isOurs);
        for (let pass = 0; pass < 3; pass += 1) {
          observed = carriedOut(observed, desired, isOurs, true);
          const delta = icnDeltaOf({ observed, desired, isOurs });
          expect(delta).toMatchObject({ remove: [], append: [] });
        }
        expect(observed.sections.filter(isOurs).map(({ name }) => name)).toEqual(names);
      }),
    );
  });

  it('moves a few objects in each quiet pass, until all are in order', () => {
    const desired = Array.from({ length: 2 * TIDIED_AT_ONCE + 10 }, (_, at) =>
      rule(`r-${at}`, { src: 'lan', proto: 'tcp', dest_port: String(at), target: 'DROP' }),
    );
    const [first, ...others] = desired;
    let observed = content(...others, first!);
    const moved: number[] = [];
    for (let pass = 0; pass < 4; pass += 1) {
      moved.push(icnDeltaOf({ observed, desired, isOurs: everything, quiet: true }).append.length);
      observed = carriedOut(observed, desired, everything, true);
    }
    expect(moved).toEqual([TIDIED_AT_ONCE, TIDIED_AT_ONCE, 9, 0]);
    expect(observed.sections).toEqual(desired);
  });

  it('does not restart mwan3 for the order alone', () => {
    const [a, b] = ['1', '2'].map((port) => rule(port, { dest_port: port, proto: 'tcp' }));
    const observed = { name: 'mwan3/rules', sections: [b!, a!] };
    const input = { observed, isOurs: everything, quiet: true };
    expect(icnDeltaOf({ ...input, desired: [a!, b!] }).append).toEqual([]);
    const changed = rule('2', { dest_port: '3', proto: 'tcp' });
    const third = rule('4', { dest_port: '4', proto: 'tcp' });
    expect(icnDeltaOf({ ...input, desired: [a!, changed, third] }).append).toEqual([
      changed,
      third,
    ]);
  });

  it('is a whole iptables collection when its state is in doubt, and nothing of the others', () => {
    const [a, b] = [rule('a', { target: 'DROP' }), rule('b', { target: 'DROP' })];
    const anew = (name: string) =>
      icnDeltaOf({
        observed: { name, sections: [a, b] },
        desired: [a, b],
        isOurs: everything,
        anew: true,
      });
    expect(anew('nat/nats').append).toEqual([a, b]);
    expect(anew(RULES).append).toEqual([]);
  });
});
