/**
 * The random ends of the paths of our webhooks, by which the API server proves itself: no other
 * client can read them. Made with each serving certificate and kept beside it, so that all replicas
 * have the same. A new one is used when every replica has read it, and the one before is good for
 * an hour more.
 */
import { createHash, createHmac, randomBytes, timingSafeEqual } from 'node:crypto';

export type PathToken = {
  /** 32 hex digits in lower case. */
  token: string;
  /** When it was made, milliseconds since 1970. */
  since: number;
};

/** As the policy on the webhook configurations has it. */
const FORM = /^[0-9a-f]{32}$/;
/** An API server that has not received the new one goes on for so long. */
const GOOD_FOR_MS = 3_600_000;
/** Certificates with lives of seconds make as many tokens. */
const MAX_TOKENS = 16;

/** `tokens` with a new one in front, without those that have ended. Newest first, as everywhere. */
export const withNewToken = (
  tokens: readonly PathToken[],
  now: number,
  token = randomBytes(16).toString('hex'),
): readonly PathToken[] => {
  const [newest] = tokens;
  if (newest?.token === token) return tokens;
  const kept = tokens.filter((_, index) => {
    const after = tokens[index - 1];
    return after === undefined || now < after.since + 2 * GOOD_FOR_MS;
  });
  return [{ token, since: now }, ...kept].slice(0, MAX_TOKENS);
};

/**
 * For a certificate in a Secret that is not ours to write: the same on each replica, and derived
 * from the private key alone.
 */
export const tokenOfKey = (key: string): string =>
  createHmac('sha256', key).update('paths of webhooks').digest('hex').slice(0, 32);

/** The one that the API server has to use: the newest that all had `spreadMs` to read. */
export const tokenInUse = (
  tokens: readonly PathToken[],
  now: number,
  spreadMs: number,
): string | undefined =>
  tokens.find(({ since }, index) => now >= since + spreadMs || index === tokens.length - 1)?.token;

/** Whether who knows it may call our webhooks. Takes the same time whatever is wrong with it. */
export const isGoodToken = (
  tokens: readonly PathToken[],
  given: string,
  now: number,
  spreadMs: number,
): boolean =>
  FORM.test(given) &&
  tokens.some(({ token }, index) => {
    const after = tokens[index - 1];
    const isOver = after !== undefined && now >= after.since + spreadMs + GOOD_FOR_MS;
    return !isOver && isSame(token, given);
  });

const isSame = (one: string, other: string): boolean => timingSafeEqual(hash(one), hash(other));
const hash = (text: string): Buffer => createHash('sha256').update(text).digest();

/** What a Secret has of them; anything that is not what we wrote counts for nothing. */
export const readTokens = (text: string): readonly PathToken[] =>
  text.split('\n').flatMap((line) => {
    const [token = '', since = ''] = line.split(' ');
    return FORM.test(token) && /^[0-9]{1,15}$/.test(since) ? [{ token, since: Number(since) }] : [];
  });

/** One a line, with the time at which it was made. */
export const writeTokens = (tokens: readonly PathToken[]): string =>
  tokens.map(({ token, since }) => `${token} ${since}\n`).join('');
