import { describe, expect, it } from 'vitest';
import { namedSection } from '#shared/compile/testing.ts';
import type { UciPackage } from '#shared/uci/model.ts';
import { createReloadTimes } from './reload-times.ts';

const packageOf = (name: string, count: number): UciPackage => ({
  name,
  sections: Array.from({ length: count }, (_, at) => namedSection('rule', `r${at}`)),
});

describe('the timer of an apply', () => {
  it("is rpcd's usual one for a few sections, and longer the more there are", () => {
    const { limitsFor } = createReloadTimes();
    expect(limitsFor([packageOf('firewall', 10)]).rollbackSeconds).toBe(31);
    expect(limitsFor([packageOf('firewall', 5_000)]).rollbackSeconds).toBe(100);
  });

  it('is twice what the last reload took, and 30 seconds', () => {
    const { limitsFor, add } = createReloadTimes();
    add(packageOf('firewall', 10), 90_000);
    expect(limitsFor([packageOf('firewall', 10)])).toEqual({
      rollbackSeconds: 210,
      keepAfterMs: 205_000,
      waitMs: 180_000,
    });
    expect(limitsFor([packageOf('firewall', 20)]).rollbackSeconds).toBe(390);
    expect(limitsFor([packageOf('mwan3', 10)]).rollbackSeconds).toBe(31);
    add(packageOf('firewall', 10), 1_000);
    expect(limitsFor([packageOf('firewall', 10)]).rollbackSeconds).toBe(32);
  });

  it('covers all packages of the change, and is at most ten minutes', () => {
    const { limitsFor, add } = createReloadTimes();
    add(packageOf('firewall', 10), 10_000);
    add(packageOf('mwan3', 10), 5_000);
    const both = [packageOf('firewall', 10), packageOf('mwan3', 10)];
    expect(limitsFor(both).rollbackSeconds).toBe(60);
    add(packageOf('firewall', 10), 1_000_000);
    expect(limitsFor(both)).toMatchObject({ rollbackSeconds: 600, waitMs: 600_000 });
  });
});
