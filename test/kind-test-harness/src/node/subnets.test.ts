import { describe, expect, it } from 'vitest';

import { freeBlocks, subnetsOf } from './subnets.ts';

describe('subnetsOf', () => {
  it('cuts a block into link, pods and Services that do not overlap', () => {
    expect(subnetsOf(3)).toEqual({
      hostAddress: '10.200.12.1',
      nodeAddress: '10.200.12.2',
      linkPrefix: 30,
      pods: '10.200.13.0/24',
      gateway: '10.200.13.1',
      gatewayPrefix: 24,
      services: '10.200.14.0/23',
    });
  });

  it('goes on in the second pool', () => {
    expect(subnetsOf(256).hostAddress).toBe('172.24.0.1');
    expect(subnetsOf(511).services).toBe('172.27.254.0/23');
    expect(() => subnetsOf(512)).toThrow(RangeError);
  });
});

describe('freeBlocks', () => {
  it.each([
    ['nothing is taken', [], 0],
    ['a route lies in the first block', ['10.200.1.0/24'], 1],
    ['a route contains the first two blocks', ['10.200.0.0/21'], 2],
    ['an address lies at the end of the first block', ['10.200.3.255/32'], 1],
    ['the whole first pool is routed', ['10.200.0.0/14'], 256],
    ['only a way out contains it', ['10.0.0.0/8', '0.0.0.0/0', 'default'], 0],
    ['neighbours touch but do not overlap', ['10.199.255.0/24', '10.200.4.0/24'], 0],
  ])('when %s', (_, taken, first) => {
    expect(freeBlocks(taken)[0]).toBe(first);
  });

  it('leaves out every overlapping block, not only the first', () => {
    expect(freeBlocks(['10.200.4.0/30', '10.200.8.0/22']).slice(0, 3)).toEqual([0, 3, 4]);
  });
});
