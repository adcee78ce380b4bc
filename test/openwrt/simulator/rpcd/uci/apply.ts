/**
 * The methods of the ubus object `uci` that write packages: commit and revert, and apply with its
 * confirmation, roll-back and timer. Owns the one apply that can be pending and its snapshot, which
 * lies in files as rpcd keeps it.
 */
import { existsSync, mkdirSync, readdirSync, statSync } from 'node:fs';
import { readBytes, writeBytes } from '../../bytes.ts';
import type { Clock } from '../../clock.ts';
import type { Cause } from '../../journal.ts';
import { UciError } from '../../uci/errors.ts';
import { isPackageName } from '../../uci/names.ts';
import type { UciStore } from '../../uci/store.ts';
import type { UciWriter } from '../../uci/writer.ts';
import {
  SESSION_ARGUMENT,
  STATUS,
  failed,
  ok,
  type Arguments,
  type BusObject,
  type Caller,
  type Reply,
  type Status,
} from '../bus.ts';
import { refusalOf } from './object.ts';
import { Snapshot } from './snapshot.ts';

/** Seconds until an apply with rollback is undone when the call names no timeout. */
const DEFAULT_APPLY_TIMEOUT_SECONDS = 60;

export type ApplyDeps = {
  store: UciStore;
  writer: UciWriter;
  clock: Clock;
  /** Keeps rpcd from anything else until the work is done. */
  occupy: (work: Promise<void>) => void;
  allows: (session: string, packageName: string, right: 'read' | 'write') => boolean;
  stagingDirectory: (session: string) => string;
  causeOf: (session: string, call: string) => Cause;
  /** Where rpcd keeps `snapshot-files` and `snapshot-delta`. */
  runDirectory: string;
  /** procd's `config.change` event, which reloads services on images that act on it. */
  onConfigChange: (packageName: string) => void;
};

export class PendingApply {
  readonly #deps: ApplyDeps;
  readonly #snapshot: Snapshot;
  /** Session whose apply waits for its confirmation. */
  #session: string | undefined;
  #cancelTimer: () => void = () => {};

  constructor(deps: ApplyDeps) {
    this.#deps = deps;
    this.#snapshot = new Snapshot(deps.runDirectory);
  }

  get session(): string | undefined {
    return this.#session;
  }

  /** As when rpcd dies: nothing is undone any more. */
  forget(): void {
    this.#cancelTimer();
    this.#session = undefined;
  }

  methods(): BusObject {
    const config = { config: 'string', ...SESSION_ARGUMENT } as const;
    return {
      revert: {
        arguments: config,
        call: (args, caller) => this.#revertOrCommit(args, caller, false),
      },
      commit: {
        arguments: config,
        call: (args, caller) => this.#revertOrCommit(args, caller, true),
      },
      apply: {
        arguments: { rollback: 'boolean', timeout: 'integer', ...SESSION_ARGUMENT },
        call: (args, caller) => this.#apply(args, caller),
      },
      confirm: { arguments: SESSION_ARGUMENT, call: (_, caller) => this.#confirm(caller) },
      rollback: { arguments: SESSION_ARGUMENT, call: (_, caller) => this.#rollback(caller) },
    };
  }

  async #revertOrCommit(args: Arguments, { session }: Caller, commit: boolean): Promise<Reply> {
    if (this.#session !== undefined) return failed(STATUS.permissionDenied);
    const name = args.text('config');
    if (name === undefined) return failed(STATUS.invalidArgument);
    if (!this.#deps.allows(session, name, 'write')) return failed(STATUS.permissionDenied);
    const staging = this.#deps.stagingDirectory(session);
    try {
      if (!commit) this.#deps.store.revert(name, staging);
      else {
        await this.#deps.writer.commit(name, staging, this.#deps.causeOf(session, 'uci commit'));
        this.#deps.onConfigChange(name);
      }
      return ok();
    } catch (error) {
      return refusalOf(error);
    }
  }

  async #apply(args: Arguments, { session }: Caller): Promise<Reply> {
    const rollback = args.flag('rollback');
    if (this.#session !== undefined && rollback) return failed(STATUS.permissionDenied);
    this.#snapshot.purge();
    // A plain apply while another one is pending: the snapshot is gone, and nothing else happens.
    if (this.#session !== undefined) return ok();
    const staging = this.#deps.stagingDirectory(session);
    const names = stagedPackages(staging);
    const refusal = this.#refusal(session, names);
    if (refusal !== STATUS.ok) return failed(refusal);
    for (const name of names) {
      const delta = readBytes(`${staging}/${name}`);
      this.#snapshot.add(name, { text: this.#deps.store.text(name) ?? '', delta });
      await this.#commit(name, staging, this.#deps.causeOf(session, 'uci apply'));
    }
    if (rollback) this.#await(session, args.integer('timeout') ?? DEFAULT_APPLY_TIMEOUT_SECONDS);
    return ok();
  }

  #await(session: string, seconds: number): void {
    this.#session = session;
    this.#cancelTimer = this.#deps.clock.after(seconds * 1000, () =>
      this.#deps.occupy(this.#restore('rollback timer')),
    );
  }

  #confirm({ session }: Caller): Reply {
    const refusal = this.#notOurs(session);
    if (refusal) return refusal;
    this.#snapshot.purge();
    this.forget();
    return ok();
  }

  async #rollback({ session }: Caller): Promise<Reply> {
    const refusal = this.#notOurs(session);
    if (refusal) return refusal;
    await this.#restore('uci rollback');
    return ok();
  }

  #notOurs(session: string): Reply | undefined {
    if (this.#session === undefined) return failed(STATUS.noData);
    return this.#session === session ? undefined : failed(STATUS.permissionDenied);
  }

  /**
   * Puts the files of the snapshot back, and the staged changes too if their session still lives.
   */
  async #restore(call: string): Promise<void> {
    const session = this.#session ?? '';
    const names = this.#snapshot.names();
    const stageAgain = this.#refusal(session, names) === STATUS.ok;
    for (const name of names) {
      const { text, delta } = this.#snapshot.read(name);
      await this.#deps.writer.overwrite(name, text, this.#deps.causeOf(session, call));
      this.#deps.onConfigChange(name);
      if (!stageAgain) continue;
      const staging = this.#deps.stagingDirectory(session);
      mkdirSync(staging, { recursive: true });
      writeBytes(`${staging}/${name}`, delta);
    }
    this.#snapshot.purge();
    this.forget();
  }

  #refusal(session: string, names: readonly string[]): Status {
    if (names.length === 0) return STATUS.noData;
    return names.every((name) => this.#deps.allows(session, name, 'write'))
      ? STATUS.ok
      : STATUS.permissionDenied;
  }

  /** What cannot be read is left as it is, without an error. */
  async #commit(name: string, staging: string, by: Cause): Promise<void> {
    try {
      await this.#deps.writer.commit(name, staging, by);
    } catch (error) {
      if (!(error instanceof UciError)) throw error;
    }
    this.#deps.onConfigChange(name);
  }
}

/** Empty staging files count for nothing. */
const stagedPackages = (staging: string): string[] =>
  existsSync(staging)
    ? readdirSync(staging)
        .filter((name) => isPackageName(name) && statSync(`${staging}/${name}`).size > 0)
        .sort()
    : [];
