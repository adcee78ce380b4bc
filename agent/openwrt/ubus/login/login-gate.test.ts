import { beforeEach, describe, expect, it } from 'vitest';
import { OpenwrtLoginRefusedError, OpenwrtUnreachableError } from '../../driver.ts';
import { createLoginGate, type Credentials, type LoginGate } from './login-gate.ts';

const CREDENTIALS: Credentials = { username: 'sdewan', password: 'old' };
const ACCEPTED = 'a session';
/** The agent looks once a second, spread by a quarter. */
const LOOK_MS = 1_250;

let now: number;
let gate: LoginGate;
let tries: number[];
let looks: number;
let openwrt: 'refuses' | 'accepts' | 'is away';

beforeEach(() => {
  now = 0;
  gate = createLoginGate({ monotonic: () => now });
  tries = [];
  looks = 0;
  openwrt = 'refuses';
});

const answer = (): void => {
  if (openwrt === 'is away') throw new OpenwrtUnreachableError('log in', 'ECONNREFUSED');
};

const pass = (credentials = CREDENTIALS): Promise<string> =>
  gate.pass(credentials, {
    logIn: async () => {
      tries.push(now);
      answer();
      if (openwrt === 'refuses') throw new OpenwrtLoginRefusedError();
      return ACCEPTED;
    },
    look: async () => {
      looks += 1;
      answer();
    },
  });

const lookFor = async (ms: number, credentials = CREDENTIALS): Promise<void> => {
  const end = now + ms;
  while (now < end) {
    await pass(credentials).catch(() => undefined);
    now += LOOK_MS;
  }
};

/** A wait of at least three seconds begins: the login was just refused once more. */
const lookUntilWait = async (): Promise<void> => {
  await lookFor(300_000);
  const before = tries.length;
  while (tries.length === before) await lookFor(LOOK_MS);
};

describe('a refused login', () => {
  it('is tried less and less often, and at least every half minute', async () => {
    await lookFor(600_000);
    expect(looks + tries.length).toBe(600_000 / LOOK_MS);
    const waits = tries.slice(1).map((at, index) => at - (tries[index] ?? 0));
    // Between a tenth of and all of 2, 4, 8, 16, 30, 30 … seconds, and up to the next look.
    for (const [index, wait] of waits.entries()) {
      const bound = Math.min(30_000, 2_000 * 2 ** index);
      expect(wait).toBeGreaterThanOrEqual(bound / 10);
      expect(wait).toBeLessThanOrEqual(bound + LOOK_MS);
    }
  });

  it('is reported at each look', async () => {
    for (let look = 1; look <= 5; look += 1)
      await expect(pass()).rejects.toThrow('refuses the username and password');
  });

  it('is tried at once with another password', async () => {
    await lookUntilWait();
    openwrt = 'accepts';
    await expect(pass({ ...CREDENTIALS, password: 'new' })).resolves.toBe(ACCEPTED);
  });

  it('is tried at once when OpenWRT answers again', async () => {
    await lookUntilWait();
    openwrt = 'is away';
    await expect(pass()).rejects.toThrow('ECONNREFUSED');
    openwrt = 'accepts';
    await expect(pass()).resolves.toBe(ACCEPTED);
  });

  it('waits only shortly again after a login that was accepted', async () => {
    await lookFor(300_000);
    openwrt = 'accepts';
    await lookFor(60_000);
    openwrt = 'refuses';
    tries = [];
    await lookFor(4 * LOOK_MS);
    expect(tries.length).toBeGreaterThanOrEqual(2);
  });
});
