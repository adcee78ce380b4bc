import { describe, expect, it } from 'vitest';
import {
  isGoodToken,
  readTokens,
  tokenInUse,
  tokenOfKey,
  withNewToken,
  writeTokens,
} from './path-tokens.ts';

const SPREAD_MS = 30_000;
const HOUR = 3_600_000;
const OLD = 'a'.repeat(32);
const NEW = 'b'.repeat(32);

const [first, second] = [
  withNewToken([], 0, OLD),
  withNewToken(withNewToken([], 0, OLD), HOUR, NEW),
];
const good = (token: string, now: number) => isGoodToken(second, token, now, SPREAD_MS);

describe('the token at the end of the paths of webhooks', () => {
  it('is 32 random hex digits', () => {
    const [one, other] = [withNewToken([], 0)[0]?.token ?? '', withNewToken([], 0)[0]?.token];
    expect(one).toMatch(/^[0-9a-f]{32}$/);
    expect(one).not.toBe(other);
    expect(tokenOfKey('a')).toMatch(/^[0-9a-f]{32}$/);
    expect([tokenOfKey('a') === tokenOfKey('a'), tokenOfKey('a') === tokenOfKey('b')]).toEqual([
      true,
      false,
    ]);
  });

  it('is used at once when it is the only one', () => {
    expect(tokenInUse(first, 0, SPREAD_MS)).toBe(OLD);
    expect(tokenInUse([], 0, SPREAD_MS)).toBeUndefined();
  });

  it('is used when every replica has had the time to read it', () => {
    expect(tokenInUse(second, HOUR + SPREAD_MS - 1, SPREAD_MS)).toBe(OLD);
    expect(tokenInUse(second, HOUR + SPREAD_MS, SPREAD_MS)).toBe(NEW);
  });

  it('is valid at once, and the one before it for an hour after its last use', () => {
    expect([good(NEW, HOUR), good(OLD, HOUR)]).toEqual([true, true]);
    const end = HOUR + SPREAD_MS + HOUR;
    expect([good(OLD, end - 1), good(OLD, end), good(NEW, end)]).toEqual([true, false, true]);
  });

  it.each(['', 'a', OLD.toUpperCase(), `${OLD}a`, `${OLD}\n`, 'c'.repeat(32)])(
    'is not %j',
    (given) => {
      expect(good(given, HOUR)).toBe(false);
    },
  );

  it('is kept as long as it is valid, and then removed', () => {
    expect(withNewToken(second, 2 * HOUR).map(({ token }) => token)).toContain(OLD);
    expect(withNewToken(second, 4 * HOUR).map(({ token }) => token)).not.toContain(OLD);
    let tokens = first;
    for (let now = 1; now < 100; now += 1) tokens = withNewToken(tokens, now);
    expect(tokens.length).toBeLessThan(20);
    expect(withNewToken(second, 9, NEW)).toBe(second);
  });

  it('is read back as it was written, and other text is ignored', () => {
    expect(readTokens(writeTokens(second))).toEqual(second);
    expect(readTokens(`x 1\n${OLD}\n${OLD} -1\n${OLD} 1e9\n`)).toEqual([]);
  });
});
