/**
 * How the ubus driver reads and writes, as far as it depends on what its login may do: `fast` with
 * file rights (fast-path.ts), `staged` with rights of `uci` alone (staged-path.ts). Everything else
 * of the driver is the same for both.
 */
import type { UciDelta, UciPackage } from '#shared/uci/model.ts';
import type { UciRename } from '../../driver.ts';
import type { Amender } from '../../kernel/amender.ts';
import type { ReloadVerdict } from '../../services/fw4-reload.ts';
import type { UbusSession } from '../login/session.ts';
import type { Base, PackageState } from '../read/packages.ts';
import type { ReloadLimits } from './reload-times.ts';

export type Transaction = {
  session: UbusSession;
  deltas: readonly UciDelta[];
  bases: ReadonlyMap<string, Base>;
  limits: ReloadLimits;
  /** What may spare the firewall a reload. */
  amender?: Pick<Amender, 'prepare' | 'amend' | 'reloaded'> | undefined;
  /** Made permanent before its services have taken it, since they take long. */
  isKept?: true;
  signal: AbortSignal;
};

/** `wanted`: the packages as the deltas make them. */
export type Planned = Transaction & { wanted: ReadonlyMap<string, UciPackage> };

/** `bases`: of the packages that sections are named in. */
export type Renaming = Omit<Transaction, 'deltas' | 'limits'> & { renames: readonly UciRename[] };

/** How sections are given names. */
export type Renamer = {
  /**
   * Stages the names, sees that the packages have not changed since they were read, and applies
   * with the way back armed.
   */
  write: (renaming: Renaming) => Promise<void>;
  /** Makes them permanent. */
  keep: (renaming: Renaming) => Promise<void>;
  /** The names go, at the latest when the timer of the apply ends. */
  undo: (renaming: Renaming) => Promise<void>;
};

type Of<T> = (session: UbusSession, packages: readonly string[], signal: AbortSignal) => Promise<T>;

export type WritePath = {
  readonly name: 'fast' | 'staged';
  /** Sections of its own that it stages in passing: left in a package where a call was lost. */
  readonly inPassing: readonly string[];
  /**
   * In each new session before anything else: nothing of an earlier transaction is pending or
   * staged after it. @throws OpenwrtError
   */
  begin: Of<void>;
  /**
   * The same after a transaction of this session that did not come to its end; false when another
   * session's pending apply forbids it. Absent: only a new session has nothing staged.
   */
  settle?: Of<boolean>;
  /**
   * Per package what its state's `version` would be now; 'absent' when OpenWRT has none, 'refused'
   * when it may not be read.
   */
  versions: Of<ReadonlyMap<string, string>>;
  read: Of<ReadonlyMap<string, PackageState>>;
  /**
   * The version of a package that OpenWRT has just written and that holds this; absent where
   * `versions` costs as much as `read`.
   */
  versionOf?: (content: UciPackage) => string;
  /** Why a delta cannot be written this way, and which sections are too much; undefined: it can. */
  refuses: (delta: UciDelta, base: UciPackage) => { why: string; sections: string[] } | undefined;
  /** Absent where the login lacks a right for it. */
  renamer?: Renamer | undefined;
  /**
   * `foreseen`: what packages will be that OpenWRT writes just as they are wanted; worked out when
   * it is first asked for.
   */
  write: (
    transaction: Planned,
    changes: readonly UciDelta[],
    foreseen: () => ReadonlyMap<string, Base>,
  ) => Promise<void>;
  /** Makes permanent what was written. */
  keep: (transaction: Transaction) => Promise<void>;
  /**
   * Puts the files back as they were. `left`: the versions of those packages in which others
   * changed nothing. What others wrote, there or since, stays.
   */
  undo: (transaction: Transaction, left: ReadonlyMap<string, string>) => Promise<void>;
  /** Has the service take what the package holds. */
  reload: (
    session: UbusSession,
    content: UciPackage,
    signal: AbortSignal,
    waitMs?: number,
  ) => Promise<ReloadVerdict>;
};
