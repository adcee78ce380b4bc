/**
 * What the reconcile loop needs of an OpenWRT, whatever API it speaks. A driver owns the session with it, serialises
 * its writes, and never changes a section that the deltas do not name.
 */
import type { UciDelta, UciPackage } from '#shared/uci/model.ts';

/** Differs from an earlier one when OpenWRT restarted or any watched package changed, by whomever. */
export type Fingerprint = string;

export type ApplyResult =
  | {
      /** Written, reloaded, read back as wanted, and made permanent. `warnings`: OpenWRT's own words per section that it left out. */
      outcome: 'done';
      observed: ReadonlyMap<string, UciPackage>;
      warnings: ReadonlyMap<string, string>;
    }
  | {
      /** OpenWRT refuses the set as it is; everything is as before. `sections`: the culprits where it names them, else empty. */
      outcome: 'rejected';
      message: string;
      sections: readonly string[];
    };

export type Driver = {
  readonly name: 'ubus' | 'icn';
  /** Cheap enough for once a second. @throws OpenwrtError when OpenWRT does not answer or refuses the login. */
  fingerprint: (packages: readonly string[], signal: AbortSignal) => Promise<Fingerprint>;
  /** Whole packages; one that OpenWRT does not have is absent from the map. @throws OpenwrtError */
  read: (
    packages: readonly string[],
    signal: AbortSignal,
  ) => Promise<ReadonlyMap<string, UciPackage>>;
  /** One transaction for all deltas, one reload per package touched, read back. @throws OpenwrtError when the outcome is unknown. */
  apply: (deltas: readonly UciDelta[], signal: AbortSignal) => Promise<ApplyResult>;
  /** Ends the session. Never throws. */
  close: () => Promise<void>;
};

/** OpenWRT could not be reached, did not answer in time, or answered what it never should. Worth a retry with backoff. */
export class OpenwrtError extends Error {
  override name = 'OpenwrtError';
  readonly attempted: string;
  constructor(attempted: string, message: string, cause?: unknown) {
    super(`${attempted}: ${message}`, { cause });
    this.attempted = attempted;
  }
}
