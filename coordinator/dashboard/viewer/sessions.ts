/**
 * The users that are signed in, and the codes by which a browser signs in. All of it is in memory
 * and ends by itself; only a hash is kept of codes and cookies, so that nothing in a heap dump
 * signs a reader in.
 */
import { createHash, randomBytes } from 'node:crypto';
import type { Clock } from '#shared/runtime/clock.ts';
import { Recent } from '#shared/util/recent.ts';
import type { SignedIn } from './reviews.ts';

/** `endsAt`: wall-clock milliseconds, for people; `until`: on the clock that never jumps. */
export type Session = { id: string; user: SignedIn; endsAt: number; until: number };

export const SESSION_MS = 1_800_000;
export const CODE_MS = 30_000;
/** The oldest are forgotten. */
const MAX_SESSIONS = 200;
const MAX_SESSIONS_OF_A_USER = 10;
const MAX_CODES = 100;

export type Sessions = {
  /** For a user whose token ends at `tokenEndsAt`, undefined when that is not known. */
  codeFor: (user: SignedIn, tokenEndsAt: number | undefined) => string;
  /** The user that it signs in; undefined where it is good for none. It stays as it is. */
  ownerOf: (code: string) => SignedIn | undefined;
  /** Undefined for one that is unknown, used or too old. The cookie alone finds the session. */
  redeem: (code: string) => { cookie: string; session: Session } | undefined;
  open: (user: SignedIn, tokenEndsAt: number | undefined) => { cookie: string; session: Session };
  find: (cookie: string) => Session | undefined;
  isOpen: (session: Session) => boolean;
  close: (session: Session) => void;
};

export const createSessions = (clock: Clock): Sessions => {
  const isOver = ({ until }: { until: number }): boolean => until <= clock.monotonic();
  const sessions = new Recent<Session>({ most: MAX_SESSIONS, isOver });
  const codes = new Recent<{ user: SignedIn; tokenEndsAt: number | undefined; until: number }>({
    most: MAX_CODES,
    isOver,
  });
  /** By user, oldest first. */
  const ofUser = new Recent<string[]>({ most: MAX_SESSIONS });

  const open: Sessions['open'] = (user, tokenEndsAt) => {
    const cookie = secret();
    const left = tokenEndsAt === undefined ? SESSION_MS : tokenEndsAt - clock.now();
    const lasts = Math.max(0, Math.min(SESSION_MS, left));
    const session: Session = {
      id: hashOf(cookie),
      user,
      endsAt: clock.now() + lasts,
      until: clock.monotonic() + lasts,
    };
    const own = [...(ofUser.get(user.username) ?? []), session.id];
    for (const id of own.slice(0, -MAX_SESSIONS_OF_A_USER)) sessions.delete(id);
    ofUser.set(user.username, own.slice(-MAX_SESSIONS_OF_A_USER));
    sessions.set(session.id, session);
    return { cookie, session };
  };
  const find = (id: string): Session | undefined => {
    const session = sessions.get(id);
    return session && !isOver(session) ? session : undefined;
  };

  return {
    open,
    codeFor: (user, tokenEndsAt) => {
      const code = secret();
      codes.set(hashOf(code), { user, tokenEndsAt, until: clock.monotonic() + CODE_MS });
      return code;
    },
    ownerOf: (code) => {
      const made = codes.get(hashOf(code));
      return made && !isOver(made) ? made.user : undefined;
    },
    redeem: (code) => {
      const hash = hashOf(code);
      const made = codes.get(hash);
      codes.delete(hash);
      return made && !isOver(made) ? open(made.user, made.tokenEndsAt) : undefined;
    },
    find: (cookie) => find(hashOf(cookie)),
    isOpen: ({ id }) => find(id) !== undefined,
    close: ({ id }) => sessions.delete(id),
  };
};

const secret = (): string => randomBytes(32).toString('base64url');
const hashOf = (text: string): string => createHash('sha256').update(text).digest('base64url');
