import { beforeEach, describe, expect, it } from 'vitest';
import { POLICIES_OF_A_NAMESPACE, LONGEST_POLICY, PolicyShares } from './policy-shares.ts';

const FITTING = Math.floor(POLICIES_OF_A_NAMESPACE / LONGEST_POLICY) - 1;

let shares: PolicyShares;
beforeEach(() => {
  shares = new PolicyShares();
});
const take = (uid: string, length = LONGEST_POLICY, namespace = 'shop') =>
  shares.take({ namespace, uid }, length);
const fill = (): void => {
  for (let at = 0; at < FITTING; at += 1) expect(take(`old-${at}`)).toBeUndefined();
};

it('carries a policy of the largest size, and says both numbers of a larger one', () => {
  expect(take('a')).toBeUndefined();
  expect(take('b', LONGEST_POLICY + 1)).toBe(
    'the policy has 262145 characters, and 262144 are carried',
  );
});

describe('a namespace that has taken its share', () => {
  it('gets no more, and says both numbers; others are not concerned', () => {
    fill();
    expect(take('new')).toMatch(
      /^the policies of namespace shop have 1\d{6} characters with this one, and 1048576 are carried$/,
    );
    expect(take('theirs', LONGEST_POLICY, 'other')).toBeUndefined();
  });

  it('keeps those that were there, when they come again', () => {
    fill();
    take('new');
    expect(take('old-0')).toBeUndefined();
    expect(take('new')).toBeDefined();
  });

  it('has room again when one goes or becomes smaller', () => {
    fill();
    take('new');
    expect(shares.hasRoom()).toBe(false);
    take('old-0', 10);
    expect(shares.hasRoom()).toBe(true);
    expect(take('new')).toBeUndefined();
    take('newer');
    shares.forget('old-1');
    expect(shares.hasRoom()).toBe(true);
    expect(take('newer')).toBeUndefined();
  });

  it('waits for nothing when those that found no room are gone', () => {
    fill();
    take('new');
    shares.forget('new');
    shares.forget('old-0');
    expect(shares.hasRoom()).toBe(false);
  });

  it('does not count what was not kept after all', () => {
    fill();
    take('new');
    shares.keepOnly((uid) => uid !== 'old-0');
    expect(shares.hasRoom()).toBe(true);
  });
});

it('counts policies without a spec, so that many of them are too many', () => {
  const results = Array.from({ length: 5_000 }, (_, at) => take(`p-${at}`, 2));
  expect(results.filter((one) => one === undefined).length).toBeLessThan(4_300);
});
