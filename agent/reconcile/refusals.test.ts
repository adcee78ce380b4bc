import { beforeEach, describe, expect, it } from 'vitest';
import { ruleOf } from '#shared/compile/testing.ts';
import type { RuleObject } from '#shared/kube/objects.ts';
import { createManualClock, type ManualClock } from '#shared/runtime/testing/manual-clock.ts';
import { createRefusals, type Refusals } from './refusals.ts';

const MINUTE = 60_000;
const HALF_AN_HOUR = 30 * MINUTE;
const rule = (generation = 1): RuleObject => ruleOf('FirewallRule', 'a', {}, { generation });
const { uid } = rule().metadata;
const refused = { revision: '1', message: 'nft says no' };

let clock: ManualClock;
let refusals: Refusals;
beforeEach(() => {
  clock = createManualClock();
  refusals = createRefusals(clock, ({ metadata }) => String(metadata.generation));
  refusals.review([rule()], 'first start');
});

const refuse = (options = { retry: true }): void => refusals.add(uid, refused, options);
const isLeftOut = (): boolean => refusals.current().has(uid);

describe('a refused rule', () => {
  it('is left out while the rule and OpenWRT are the same, with what OpenWRT said', () => {
    refuse();
    refusals.review([rule()], 'first start');
    expect(refusals.current().get(uid)).toMatchObject(refused);
  });

  it.each<[string, RuleObject[], string]>([
    ['the rule has changed', [rule(2)], 'first start'],
    ['the rule is gone', [], 'first start'],
    ['OpenWRT has restarted', [rule()], 'second start'],
  ])('is not left out any more when %s', (_what, rules, incarnation) => {
    refuse();
    refusals.review(rules, incarnation);
    expect(isLeftOut()).toBe(false);
    expect(refusals.releaseDue()).toBe(false);
  });

  it('is tried again within a minute, once', () => {
    refuse();
    expect(refusals.releaseDue()).toBe(false);
    expect(isLeftOut()).toBe(true);
    clock.advance(MINUTE);
    expect(refusals.releaseDue()).toBe(true);
    expect(isLeftOut()).toBe(false);
    expect(refusals.releaseDue()).toBe(false);
  });

  it('is tried again for ever, at longer and longer intervals', () => {
    const waits: number[] = [];
    for (let refusal = 1; refusal <= 12; refusal += 1) {
      refuse();
      const before = clock.monotonic();
      for (let second = 0; second <= HALF_AN_HOUR / 1_000 && !refusals.releaseDue(); second += 1)
        clock.advance(1_000);
      waits.push(clock.monotonic() - before);
      refusals.review([rule()], 'first start');
    }
    expect(isLeftOut()).toBe(false);
    expect(Math.max(...waits)).toBeLessThanOrEqual(HALF_AN_HOUR);
    // Each wait is a tenth of its bound at least, and the bound doubles.
    expect(Math.min(...waits.slice(5))).toBeGreaterThanOrEqual(HALF_AN_HOUR / 10);
    expect(waits[0]).toBeLessThanOrEqual(MINUTE);
  });

  it('is not tried again by itself when trying takes something out of force', () => {
    refuse({ retry: false });
    clock.advance(1_000 * HALF_AN_HOUR);
    expect(refusals.releaseDue()).toBe(false);
    expect(isLeftOut()).toBe(true);
    refusals.review([rule()], 'second start');
    expect(isLeftOut()).toBe(false);
  });
});
