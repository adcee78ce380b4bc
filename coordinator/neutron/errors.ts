/** What went wrong between us and OpenStack, for code to decide on by fields, never by text. */

/** Ours, when no answer came or none that is understood, or when the address is not known. */
export type OwnErrorType = 'Timeout' | 'Unreachable' | 'Malformed' | 'InvalidCloud';

export class NeutronError extends Error {
  override name = 'NeutronError';
  /** HTTP status; 0 when no answer came. */
  readonly status: number;
  /**
   * Neutron's own word, e.g. `OverQuota`, `SecurityGroupRuleExists`,
   * `RevisionNumberConstraintFailed`; else `HTTP <status>`, or one of ours.
   */
  readonly type: string;

  /** @param attempted what was tried, e.g. `PUT /v2.0/ports/…` */
  constructor(
    attempted: string,
    message: string,
    { status, type, cause }: { status: number; type: string; cause?: unknown },
  ) {
    super(`${attempted}: ${message}`, { cause });
    this.status = status;
    this.type = type;
  }
}

const hasStatus =
  (...statuses: readonly number[]) =>
  (error: unknown): error is NeutronError =>
    error instanceof NeutronError && statuses.includes(error.status);

/** The resource is not there, or not for us. */
export const isAbsent = hasStatus(404);
/** Another client has changed it, has one like it already, or uses it: look again. */
export const isOvertakenInNeutron = hasStatus(409, 412);
export const isUnauthenticated = hasStatus(401);
