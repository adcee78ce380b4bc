import { describe, expect, it } from 'vitest';
import { ORDER_ANNOTATION, POD_ADDRESSES_ANNOTATION } from '../names.ts';
import { orderOf, revisionOf } from './revision.ts';
import { ruleOf } from './testing.ts';

const revision = (spec: unknown, annotations?: Record<string, string>): string =>
  revisionOf(ruleOf('FirewallRule', 'r', spec, annotations ? { annotations } : {}));

describe('the revision of a rule', () => {
  const spec = {
    src: 'lan',
    dest: null,
    icmp_type: ['b', 'a'],
    nested: { x: 1, y: { z: 2, w: 3 } },
  };
  const usual = revision(spec);

  it.each<[string, string]>([
    [
      'in another order of its keys',
      revision({
        nested: { y: { w: 3, z: 2 }, x: 1 },
        icmp_type: ['b', 'a'],
        dest: null,
        src: 'lan',
      }),
    ],
    ['with an order that is the usual one', revision(spec, { [ORDER_ANNOTATION]: '0' })],
    ['with an annotation that shapes no section', revision(spec, { other: '1' })],
  ])('is the same %s', (_name, other) => {
    expect(other).toBe(usual);
  });

  it.each<[string, string]>([
    ['a list in another order', revision({ ...spec, icmp_type: ['a', 'b'] })],
    ['another value', revision({ ...spec, src: 'wan' })],
    [
      'null instead of nothing',
      revision({ src: 'lan', icmp_type: ['b', 'a'], nested: spec.nested }),
    ],
    ['another order annotation', revision(spec, { [ORDER_ANNOTATION]: '1' })],
    ['other addresses of pods', revision(spec, { [POD_ADDRESSES_ANNOTATION]: '10.0.0.1' })],
    ['no addresses of pods', revision(spec, { [POD_ADDRESSES_ANNOTATION]: '' })],
  ])('is another one for %s', (_name, other) => {
    expect(other).not.toBe(usual);
  });

  it('is a SHA-256 that agent and coordinator agree on over versions', () => {
    expect(revision(undefined)).toBe(revision({}));
    expect(revision({})).toBe('bb4df2f5d3f186e5b65b0d99f1f9b14fa656d2ad2b443a1b3e9e06d630d442fd');
    expect(usual).toBe('5457565aec9361d8333043d351e3829e4110ea911dd365041864df47317f106f');
  });
});

it.each<[string | undefined, number | undefined]>([
  [undefined, 0],
  ['7', 7],
  ['-7', -7],
  ['+7', 7],
  ['007', 7],
  ['', undefined],
  ['7.0', undefined],
  ['7 ', undefined],
  [' 7', undefined],
  ['0x7', undefined],
  ['1e3', undefined],
  ['9007199254740991', 9_007_199_254_740_991],
  ['9007199254740992', undefined],
])('reads order annotation %j as %j', (text, expected) => {
  const annotations = text === undefined ? {} : { [ORDER_ANNOTATION]: text };
  expect(orderOf(ruleOf('FirewallRule', 'r', {}, { annotations }))).toBe(expected);
});
