/**
 * rpcd: the bus objects session, uci and file behind one life. When it answers more than ubusd
 * passes on it dies, with all sessions and all that they have staged, and procd starts it again
 * some seconds later.
 */
import { readdirSync, rmSync } from 'node:fs';
import type { Clock } from '../clock.ts';
import type { JsonObject } from '../json.ts';
import type { Cause, Journal } from '../journal.ts';
import type { ProgramRunner } from '../programs/runner.ts';
import { ACL_DIRECTORY, RUN_DIRECTORY, SHADOW_FILE, type DeviceRoot } from '../root.ts';
import type { UciStore } from '../uci/store.ts';
import type { UciWriter } from '../uci/writer.ts';
import { blobBytes, MAX_MESSAGE_BYTES } from './blob.ts';
import type { Bus, Caller, Reply } from './bus.ts';
import { createFileObject } from './file-object.ts';
import { findLogin } from './login.ts';
import { grantFromFiles } from './rights.ts';
import { createSessionObject } from './session-object.ts';
import { NO_SESSION, Sessions, type Session } from './sessions.ts';
import { PendingApply } from './uci/apply.ts';
import { createUciObject } from './uci/object.ts';

/** Milliseconds until procd starts a dead rpcd again. */
export const RESPAWN_MS = 5_000;

const OBJECTS = ['session', 'uci', 'file'] as const;

export type RpcdDeps = {
  root: DeviceRoot;
  store: UciStore;
  writer: UciWriter;
  programs: ProgramRunner;
  journal: Journal;
  clock: Clock;
  bus: Bus;
  /** Milliseconds that each call of `uci` takes per 1,024 bytes of package and staged changes. */
  uciMsPerKilobyte: number;
  onConfigChange: (packageName: string) => void;
};

export class Rpcd {
  readonly #deps: RpcdDeps;
  readonly #pending: PendingApply;
  #sessions: Sessions;
  #cancelRespawn: () => void = () => {};
  /** What it does now; it does one thing at a time. */
  #work: Promise<unknown> | undefined;

  constructor(deps: RpcdDeps) {
    this.#deps = deps;
    this.#sessions = this.#newSessions();
    this.#pending = new PendingApply({
      store: deps.store,
      writer: deps.writer,
      clock: deps.clock,
      occupy: (work) => void this.#occupiedBy(work),
      allows: (...args) => this.#allowsPackage(...args),
      stagingDirectory: (session) => this.#stagingDirectory(session),
      causeOf: (session, call) => this.causeOf(session, call),
      runDirectory: deps.root.path(RUN_DIRECTORY),
      onConfigChange: deps.onConfigChange,
    });
    this.#start();
  }

  /** Whether the session may call that method: what uhttpd asks before each call. */
  allowsCall(session: string, target: { object: string; method: string }): boolean {
    if (!this.#deps.bus.has('session')) return false;
    return this.#sessions.allows(session, 'ubus', {
      object: target.object,
      function: target.method,
    });
  }

  /** The reply, or 'died' when it was too long for ubusd. */
  async call(
    target: { object: string; method: string },
    args: JsonObject,
    caller: Caller,
  ): Promise<Reply | 'died'> {
    const reply = await this.#inTurn(target, () => this.#deps.bus.call(target, args, caller));
    await this.#takeTime(target.object, args, caller);
    if (reply.data && blobBytes('', reply.data) > MAX_MESSAGE_BYTES) {
      this.die(`answer of ${target.object} ${target.method} over 1 MiB`);
      return 'died';
    }
    return reply;
  }

  /** Programs run beside rpcd, and the other objects are not its. */
  async #inTurn(
    { object, method }: { object: string; method: string },
    call: () => Promise<Reply>,
  ): Promise<Reply> {
    if (!OBJECTS.some((own) => own === object)) return call();
    while (this.#work) await this.#work;
    return method === 'exec' ? call() : this.#occupiedBy(call());
  }

  async #occupiedBy<T>(work: Promise<T>): Promise<T> {
    this.#work = work;
    try {
      return await work;
    } finally {
      if (this.#work === work) this.#work = undefined;
    }
  }

  causeOf(session: string, call: string): Cause {
    const user = this.#sessions.userOf(session);
    return { call, session, ...(user === undefined ? {} : { user }) };
  }

  die(why: string): void {
    this.#deps.journal.add({ event: 'rpcd died', why });
    this.stop();
    for (const name of OBJECTS) this.#deps.bus.remove(name);
    this.#cancelRespawn = this.#deps.clock.after(RESPAWN_MS, () => this.#start());
  }

  /** At once, as with its container. */
  restart(): void {
    this.stop();
    this.#start();
  }

  stop(): void {
    this.#pending.forget();
    this.#cancelRespawn();
  }

  /**
   * libuci reads the package and all that is staged on every call: what makes many `uci add`
   * quadratic.
   */
  async #takeTime(object: string, args: JsonObject, { session }: Caller): Promise<void> {
    const name = args['config'];
    const { uciMsPerKilobyte, store, clock } = this.#deps;
    if (uciMsPerKilobyte === 0 || object !== 'uci' || typeof name !== 'string') return;
    const bytes = store.bytes(name, this.#stagingDirectory(session));
    await clock.wait((bytes / 1024) * uciMsPerKilobyte);
  }

  #start(): void {
    this.#sessions = this.#newSessions();
    this.#purgeStaging();
    const session = this.#sessions.create(0, NO_SESSION);
    grantFromFiles(session.rights, this.#deps.root.path(ACL_DIRECTORY), undefined);
    const { root, store, writer, programs, bus } = this.#deps;
    const sessions = this.#sessions;
    bus.add('session', createSessionObject({ sessions, login: (login) => this.#login(login) }));
    bus.add('uci', {
      ...createUciObject({
        store,
        allows: (...args) => this.#allowsPackage(...args),
        stagingDirectory: (id) => this.#stagingDirectory(id),
      }),
      ...this.#pending.methods(),
      // /sbin/reload_config runs two seconds after the call; no service of the simulator acts on
      // it.
      reload_config: { arguments: {}, call: () => ({ status: 0 }) },
    });
    bus.add(
      'file',
      createFileObject({
        root,
        store,
        writer,
        programs,
        allows: (id, object, right) => sessions.allows(id, 'file', { object, function: right }),
        causeOf: (id, call) => this.causeOf(id, call),
      }),
    );
  }

  #newSessions(): Sessions {
    return new Sessions({
      clock: this.#deps.clock,
      onEnd: ({ id }) => rmSync(this.#stagingDirectory(id), { recursive: true, force: true }),
    });
  }

  #allowsPackage(session: string, packageName: string, right: 'read' | 'write'): boolean {
    return this.#sessions.allows(session, 'uci', { object: packageName, function: right });
  }

  #stagingDirectory(session: string): string {
    return this.#deps.root.path(`${RUN_DIRECTORY}/uci-${session}`);
  }

  #purgeStaging(): void {
    const directory = this.#deps.root.path(RUN_DIRECTORY);
    for (const name of readdirSync(directory))
      if (name.startsWith('uci-')) rmSync(`${directory}/${name}`, { recursive: true, force: true });
  }

  #login(credentials: {
    username: string;
    password: string;
    timeoutSeconds: number;
  }): Session | undefined {
    const { root, store } = this.#deps;
    const section = findLogin(store, credentials, root.path(SHADOW_FILE));
    if (!section) return undefined;
    const session =
      this.#pendingSessionOf(credentials.username) ??
      this.#sessions.create(credentials.timeoutSeconds);
    grantFromFiles(session.rights, root.path(ACL_DIRECTORY), section);
    session.values.set('username', credentials.username);
    return session;
  }

  /** A user who logs in while an apply of theirs is pending gets that session again. */
  #pendingSessionOf(username: string): Session | undefined {
    const session = this.#sessions.get(this.#pending.session ?? '');
    return session?.values.get('username') === username ? session : undefined;
  }
}
