/**
 * What the reconcile loop needs of an OpenWRT, whatever API it speaks. A driver owns the session
 * with it, serialises its writes, and never changes a section that the deltas do not name.
 */
import type { DriverChoice } from '#shared/inject/drivers.ts';
import type { Capabilities } from '#shared/resources/capabilities.ts';
import type { Information } from '#shared/protocol/information.ts';
import type { PolicyTable } from '#shared/policy/nft-table.ts';
import type { UciDelta, UciPackage, UciSection } from '#shared/uci/model.ts';

/** Differs from an earlier one when OpenWRT restarted or any watched package changed. */
export type Fingerprint = string;

/** Package -> section -> words. */
export type BySection = ReadonlyMap<string, ReadonlyMap<string, string>>;

export type KernelLook = {
  /** What a section asks for and the kernel does not have, as a noun for a sentence. */
  lacking: BySection;
  /** Why it is not known whether the kernel has what a section asks for. No repair changes that. */
  incomparable: BySection;
  /** Packages of whose sections the next look may say more. */
  passing?: ReadonlySet<string>;
  /** Why OpenWRT does not take a section, or nothing of the package because of it. */
  refused?: BySection;
  /** Why the kernel was not read; nothing counts as lacking then. */
  unread?: string | undefined;
};

export type ReadResult = {
  /**
   * By name: whole packages, and what parts beside them hold. One that OpenWRT does not have, or
   * that cannot be written, is in neither map.
   */
  packages: ReadonlyMap<string, UciPackage>;
  /**
   * Packages that must not be written to as they are, and why: e.g. an administrator's syntax
   * error.
   */
  unusable: ReadonlyMap<string, string>;
  /** Equals the next `fingerprint` while no writer changes anything of what was read. */
  fingerprint: Fingerprint;
  /** Changes when OpenWRT has, or may have, restarted: what it refused before it may take now. */
  incarnation: string;
  /** Packages whose service the agent itself can reload; absent: none. */
  reloadable?: ReadonlySet<string>;
  /** This session's: what packages, sections and options mean here, among them. */
  capabilities: Capabilities;
  /** Absent: the driver cannot look into the kernel. */
  kernel?: KernelLook;
  /** Packages whose service may have lost what they hold, unseen: to be written anew as a whole. */
  doubtful?: ReadonlySet<string>;
  /** Packages whose files hold comments; where the driver does not see files, it knows of none. */
  commented?: ReadonlySet<string>;
};

export type ApplyResult =
  | {
      /** Written, reloaded, read back as wanted, and made permanent. */
      outcome: 'done';
      /** The packages that the deltas name, as they are now. */
      observed: ReadonlyMap<string, UciPackage>;
      fingerprint: Fingerprint;
      /** Per package reloaded: OpenWRT's words per section that it left out or misunderstood. */
      warnings: ReadonlyMap<string, ReadonlyMap<string, string>>;
      /** As it is now; absent as in `ReadResult`. */
      kernel?: KernelLook;
      /** Package -> sections that were to be removed, and that OpenWRT does not remove. */
      stuck?: ReadonlyMap<string, ReadonlySet<string>>;
      /** Tunnels that were to end are not up. Absent: they may be, as the login cannot end them. */
      tunnelsEnded?: true;
    }
  | {
      /**
       * OpenWRT refuses the set as it is; all is as before, but for `partly`. `sections`: the
       * culprits where it names them, else empty. `lasting`: it is so until the culprits change,
       * and trying them again would do harm. `perhapsOthers`: that is what was read back, and
       * another writer may have written it since.
       */
      outcome: 'rejected';
      lasting?: true;
      perhapsOthers?: true;
      package: string;
      message: string;
      sections: readonly string[];
      partly?: PartlyWritten;
    };

/** What a driver without transactions leaves when it is refused on the way. */
export type PartlyWritten = {
  observed: ReadonlyMap<string, UciPackage>;
  fingerprint: Fingerprint;
  /** Packages whose service does not have the latest contents yet. */
  unsettled: ReadonlySet<string>;
};

/** A section that is to have another name, in its place. `section`: as it was read. */
export type UciRename = { package: string; section: UciSection; name: string };

export type RenameResult =
  | {
      /** Each was read back under its name, as it was. The packages, as they are now. */
      outcome: 'done';
      observed: ReadonlyMap<string, UciPackage>;
      fingerprint: Fingerprint;
    }
  /** The login may not; nothing was tried. */
  | { outcome: 'refused'; message: string };

/**
 * How many changes of the firewall came into force without a reload and with one; how often the
 * ruleset was found to differ from that of a reload.
 */
export type FirewallWays = Readonly<Record<'amended' | 'reloaded' | 'different', number>>;

/**
 * `refused`: nft's words; the kernel has what it had. `unsupported`: this OpenWRT, its API or the
 * login there cannot have policies.
 */
export type PoliciesLoaded =
  | { outcome: 'loaded' }
  | { outcome: 'refused' | 'unsupported'; message: string };

/** The kernel's table of policies, beside all that a driver writes. May run beside all else. */
export type Policies = {
  /** That of the table that is there as a whole; '' when there is none. @throws OpenwrtError */
  marker: (signal: AbortSignal) => Promise<{ marker: string } | { unsupported: string }>;
  /**
   * `after` undefined: none is to be left. `before`: what is loaded, where that is known; else the
   * table is replaced as a whole.
   * @throws OpenwrtError when the outcome is unknown
   */
  load: (
    after: PolicyTable | undefined,
    before: PolicyTable | undefined,
    signal: AbortSignal,
  ) => Promise<PoliciesLoaded>;
  /** Whether nft would take the table; the kernel stays as it is. @throws OpenwrtError: unknown */
  tryOut: (table: PolicyTable, signal: AbortSignal) => Promise<PoliciesLoaded>;
  /**
   * Packets since the table was loaded as a whole, by counter (`countedBy`), without those of 0;
   * undefined: the login may not read them. @throws OpenwrtError
   */
  denied: (signal: AbortSignal) => Promise<ReadonlyMap<string, number> | undefined>;
};

export type Driver = {
  readonly name: DriverChoice;
  /** Cheap enough for once a second. @throws OpenwrtError, also OpenwrtUnreachableError */
  fingerprint: (signal: AbortSignal) => Promise<Fingerprint>;
  /** @throws OpenwrtError */
  read: (signal: AbortSignal) => Promise<ReadResult>;
  /**
   * Names sections in their places, with nothing else in the transaction; no service is reloaded.
   * Packages as the last `read` gave them, which has no sections of these names.
   * @throws OpenwrtError
   */
  rename: (renames: readonly UciRename[], signal: AbortSignal) => Promise<RenameResult>;
  /**
   * Deltas name sections as the last `read`, `rename` or `apply` gave them, and none that is
   * anonymous. One transaction for all deltas, one reload per package named, read back. A delta
   * that changes nothing only reloads. What tunnels of IPsec have been made of sections that go or
   * change ends as well, and those of these names, as far as the login may end them.
   * @throws OpenwrtError when the outcome is unknown, or nothing could be tried: read again, then
   * decide again.
   */
  apply: (
    deltas: readonly UciDelta[],
    signal: AbortSignal,
    ending?: readonly string[],
  ) => Promise<ApplyResult>;
  /**
   * How OpenWRT is, for people to read. May run beside everything else; undefined while there is no
   * session, since it makes none.
   * @throws OpenwrtError
   */
  information: (signal: AbortSignal) => Promise<Information | undefined>;
  /**
   * Since when OpenWRT has not answered what it answers at once, on the monotonic clock; undefined
   * when it has answered since, and while it works on what may take long.
   */
  unansweredSince: () => number | undefined;
  /** Absent: every change is a reload. */
  firewallWays?: () => FirewallWays | undefined;
  /** Rules of fw4, as nft listed them last; or why they are not read. Absent: the driver cannot. */
  kernelRules?: () => { text: string } | { unread: string };
  /** Absent or undefined: the API has nothing of the kind. */
  policies?: () => Policies | undefined;
  /** Ends the session. Never throws. */
  close: () => Promise<void>;
};

/** It did not work, and what it left is not known: read again, then decide. Worth a retry. */
export class OpenwrtError extends Error {
  override name = 'OpenwrtError';
  readonly attempted: string;
  constructor(attempted: string, message: string, cause?: unknown) {
    super(`${attempted}: ${message}`, { cause });
    this.attempted = attempted;
  }
}

/** OpenWRT does not answer the agent: it is down, starting, hanging, or refuses the login. */
export class OpenwrtUnreachableError extends OpenwrtError {
  override name = 'OpenwrtUnreachableError';
}

/** It answers, and does not take the username and password. */
export class OpenwrtLoginRefusedError extends OpenwrtUnreachableError {
  override name = 'OpenwrtLoginRefusedError';
  constructor(why = 'it refuses the username and password') {
    super('log in to OpenWRT', why);
  }
}

/** Its web server answers, and may not pass this call on: it does not run as root. */
export class OpenwrtAclError extends OpenwrtUnreachableError {
  override name = 'OpenwrtAclError';
  readonly object: string;
  readonly method: string;
  constructor({ object, method }: { object: string; method: string }) {
    super(
      `ubus ${object} ${method}`,
      "the ACL of ubus for the user of OpenWRT's web server does not grant it: add object and method in /usr/share/acl.d (docs/drivers.md lists all), and restart ubus",
    );
    this.object = object;
    this.method = method;
  }
}

/**
 * OpenWRT answers, but what another writer did prevents the change; OpenWRT is as it was before the
 * try. Worth a retry with backoff.
 */
export class OpenwrtBlockedError extends OpenwrtError {
  override name = 'OpenwrtBlockedError';
}

/**
 * OpenWRT refuses a package as it was before the change, so that nothing of ours comes into force
 * in it; all is as before.
 */
export class OpenwrtPackageRefusedError extends OpenwrtBlockedError {
  override name = 'OpenwrtPackageRefusedError';
  readonly package: string;
  /** Why, as a sentence. */
  readonly why: string;
  constructor(uciPackage: string, words: string) {
    const why = `OpenWRT refuses its configuration even without this change: ${words}`;
    super(`reload ${uciPackage}`, why);
    this.package = uciPackage;
    this.why = `OpenWRT refuses /etc/config/${uciPackage} even without a change by the agent: ${words}`;
  }
}

/** A service takes longer than OpenWRT waits for it. It goes on, and its output is lost. */
export class OpenwrtReloadTimeoutError extends OpenwrtError {
  override name = 'OpenwrtReloadTimeoutError';
}

/** Something answers at the address, and it does not speak the driver's API. */
export class OpenwrtApiMissingError extends OpenwrtError {
  override name = 'OpenwrtApiMissingError';
}
