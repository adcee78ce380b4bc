import { BlockList, SocketAddress } from 'node:net';
import * as fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import {
  addressText,
  blockText,
  holdsBlock,
  parseAddress,
  parseBlock,
  spelled,
} from './address-blocks.ts';

describe('spelled', () => {
  test.each([
    ['10.0.0.5', '10.0.0.5'],
    ['FD00:0:0::0001', 'fd00::1'],
    ['::ffff:10.0.0.1', '::ffff:a00:1'],
    ['::', '::'],
    ['1:2:3:4:5:6:7::', '1:2:3:4:5:6:7:0'],
  ])('%s is %s', (text, address) => {
    expect(spelled(text)?.address).toBe(address);
  });

  test.each(['', '10.0.0', '10.0.0.05', '256.0.0.1', 'fe80::1%eth0', 'host', '10.0.0.1/32', ':::'])(
    '%s is no address',
    (text) => {
      expect(spelled(text)).toBeUndefined();
    },
  );

  test('reads what is written as the same', () => {
    fc.assert(
      fc.property(fc.oneof(fc.ipV4(), fc.ipV6()), (text) => {
        const address = parseAddress(text);
        expect(address && parseAddress(addressText(address))).toStrictEqual(address);
      }),
    );
  });
});

describe('parseBlock', () => {
  test.each([
    ['10.1.2.3/16', '10.1.0.0/16'],
    ['0.0.0.0/0', '0.0.0.0/0'],
    ['fd00::1:2/64', 'fd00::/64'],
    ['10.0.0.1/32', '10.0.0.1/32'],
  ])('%s is %s', (text, block) => {
    const parsed = parseBlock(text);
    expect(parsed && blockText(parsed)).toBe(block);
  });

  test.each([
    '10.0.0.0',
    '10.0.0.0/33',
    'fd00::/129',
    '10.0.0.0/',
    '/8',
    '10.0.0.0/-1',
    '10.0.0.0/8/8',
  ])('%s is no block', (text) => {
    expect(parseBlock(text)).toBeUndefined();
  });

  test("reads a block that holds what Node's own list holds", () => {
    const addresses = fc.oneof(
      fc.tuple(fc.ipV4(), fc.ipV4(), fc.nat(32)),
      fc.tuple(fc.ipV6(), fc.ipV6(), fc.nat(128)),
    );
    fc.assert(
      fc.property(addresses, ([base, other, length]) => {
        const family = base.includes(':') ? 'ipv6' : 'ipv4';
        const list = new BlockList();
        list.addSubnet(base, length, family);
        const isHeld = list.check(new SocketAddress({ address: other, family }));
        const outer = parseBlock(`${base}/${length}`);
        const inner = parseBlock(`${other}/${family === 'ipv4' ? 32 : 128}`);
        expect(outer && inner && holdsBlock(outer, inner)).toBe(isHeld);
      }),
    );
  });
});
