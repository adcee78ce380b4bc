import { describe, expect, it } from 'vitest';

import { createAddressPool } from './addresses.ts';

describe('the address pool', () => {
  it('gives addresses of 127.0.0.0/8, each once, also beyond one subnet', () => {
    const pool = createAddressPool();
    const addresses = Array.from({ length: 600 }, () => pool.take());
    expect(new Set(addresses).size).toBe(600);
    for (const address of addresses) expect(address).toMatch(/^127\.\d+\.\d+\.\d+$/);
    expect(addresses.some((address) => /^127\.[01]\./.test(address))).toBe(false);
  });

  it('gives an address back last', () => {
    const pool = createAddressPool();
    const first = pool.take();
    pool.give(first);
    expect(pool.take()).not.toBe(first);
  });

  it('takes back only what it gave', () => {
    const pool = createAddressPool();
    pool.take();
    pool.give('127.0.0.1');
    const rest = Array.from({ length: 252 }, () => pool.take());
    expect(rest).not.toContain('127.0.0.1');
  });
});
