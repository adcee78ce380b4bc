/**
 * rpcd's sessions: ids, idle timeouts, rights and values. Every look-up of a session begins its
 * timeout anew.
 */
import { randomBytes } from 'node:crypto';
import type { Clock } from '../clock.ts';
import type { Json, JsonObject } from '../json.ts';
import { Rights } from './rights.ts';

/** The session of callers that have none. */
export const NO_SESSION = '0'.repeat(32);
/** Idle time in seconds after which rpcd forgets a session. */
export const DEFAULT_TIMEOUT_SECONDS = 300;

export type Session = {
  readonly id: string;
  readonly timeoutSeconds: number;
  readonly rights: Rights;
  readonly values: Map<string, Json>;
  /** On the simulator's clock; Infinity for a session without timeout. */
  expiresAtMs: number;
};

export class Sessions {
  readonly #sessions = new Map<string, Session>();
  readonly #clock: Clock;
  readonly #onEnd: (session: Session) => void;

  constructor(deps: { clock: Clock; onEnd: (session: Session) => void }) {
    this.#clock = deps.clock;
    this.#onEnd = deps.onEnd;
  }

  create(timeoutSeconds: number, id = randomBytes(16).toString('hex')): Session {
    const session: Session = {
      id,
      timeoutSeconds,
      rights: new Rights(),
      values: new Map(),
      expiresAtMs: Infinity,
    };
    this.#touch(session);
    this.#sessions.set(id, session);
    return session;
  }

  get(id: string): Session | undefined {
    this.#expire();
    const session = this.#sessions.get(id);
    if (session) this.#touch(session);
    return session;
  }

  allows(id: string, scope: string, target: { object: string; function: string }): boolean {
    return this.get(id)?.rights.allows(scope, target.object, target.function) ?? false;
  }

  userOf(id: string): string | undefined {
    const user = this.#sessions.get(id)?.values.get('username');
    return typeof user === 'string' ? user : undefined;
  }

  destroy(id: string): void {
    const session = this.#sessions.get(id);
    if (!session) return;
    this.#sessions.delete(id);
    this.#onEnd(session);
  }

  dump(session: Session): JsonObject {
    const left = session.expiresAtMs - this.#clock.nowMs();
    return {
      ubus_rpc_session: session.id,
      timeout: session.timeoutSeconds,
      expires: Number.isFinite(left) ? Math.max(0, Math.ceil(left / 1000)) : 0,
      acls: session.rights.dump(),
      data: this.valuesOf(session),
    };
  }

  valuesOf(session: Session): JsonObject {
    return Object.fromEntries([...session.values].sort(([a], [b]) => (a < b ? -1 : 1)));
  }

  #touch(session: Session): void {
    if (session.timeoutSeconds > 0)
      session.expiresAtMs = this.#clock.nowMs() + session.timeoutSeconds * 1000;
  }

  /** Lazily: a session that has ended looks like one that ends when it is next looked for. */
  #expire(): void {
    const now = this.#clock.nowMs();
    for (const session of this.#sessions.values())
      if (session.expiresAtMs <= now) this.destroy(session.id);
  }
}
