import { describe, expect, it } from 'vitest';
import { digestsIn, isDigest, referenceOf, taggedImages, withDigests } from './image.ts';

const [ONE, TWO] = [`sha256:${'1'.repeat(64)}`, `sha256:${'2'.repeat(64)}`];
const template = (...images: string[]) => ({
  metadata: { labels: { sdewanPurpose: 'cnf-1' } },
  spec: {
    initContainers: [{ name: 'first', image: 'init:1' }],
    containers: images.map((image, index) => ({ name: `c${index}`, image, tty: true })),
  },
});

describe('an image', () => {
  it.each<[string, string, string, string]>([
    ['openwrt', 'docker.io', 'library/openwrt', 'latest'],
    ['team/openwrt:23.05', 'docker.io', 'team/openwrt', '23.05'],
    ['ghcr.io/team/openwrt:23.05', 'ghcr.io', 'team/openwrt', '23.05'],
    ['localhost:5000/cnf', 'localhost:5000', 'cnf', 'latest'],
    ['localhost/cnf:1', 'localhost', 'cnf', '1'],
    ['[fd00::1]:5000/cnf:1', '[fd00::1]:5000', 'cnf', '1'],
    ['a.example/b__c/d--e.f:V_1', 'a.example', 'b__c/d--e.f', 'V_1'],
  ])('named %s is at %s, %s with tag %s', (image, host, name, tag) => {
    expect(referenceOf(image)).toEqual({ host, name, tag });
  });

  it.each([
    '',
    'UPPER/case:1',
    'a.example/../../admin:1',
    'a.example/v2/?x=:1',
    'a.example#/x:1',
    'user@a.example/x:1',
    'a.example:443:443/x',
    'a.example//x',
    'a.example/x:',
    'a.example/x y',
    'a.example/x\r\nHost: b:1',
    `a.example/x:${'1'.repeat(129)}`,
    `a.example/${'x'.repeat(400)}`,
  ])('named %j is none', (image) => {
    expect(referenceOf(image)).toBeUndefined();
  });
});

describe('a digest', () => {
  it.each([ONE.slice(0, -1), `${ONE}\n`, `md5:${'1'.repeat(32)}`, ONE.toUpperCase(), `${ONE} x`])(
    'is not %j',
    (text) => expect(isDigest(text)).toBe(false),
  );

  it('stands in the template behind the tag, and leaves all else as it is', () => {
    const digests = new Map([['openwrt:1', ONE]]);
    const resolved = withDigests(template('openwrt:1', 'other:1'), digests);
    const all = template('openwrt:1', 'other:1');
    expect(resolved).toEqual({
      ...all,
      spec: {
        ...all.spec,
        containers: [
          { name: 'c0', image: `openwrt:1@${ONE}`, tty: true },
          { name: 'c1', image: 'other:1', tty: true },
        ],
      },
    });
    expect(digestsIn(resolved, ['openwrt:1', 'other:1'])).toEqual(digests);
    expect(JSON.stringify(withDigests(all, new Map()))).toBe(JSON.stringify(all));
  });
});

it('looks nothing up for images with a digest, and each image once', () => {
  expect(taggedImages(template('openwrt:1', `openwrt:2@${TWO}`, 'openwrt:1'))).toEqual([
    'init:1',
    'openwrt:1',
  ]);
});
