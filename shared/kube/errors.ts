/** What went wrong between us and the API server, for code that decides by fields, not text. */

export type KubeErrorDetails = {
  /** HTTP status; 0 when no answer came. */
  status: number;
  /**
   * Kubernetes' own word, e.g. `NotFound`, `AlreadyExists`; ours when no answer came: `Timeout`,
   * `Unreachable`, `Malformed`.
   */
  reason: string;
  /** Milliseconds that the server asked us to wait. */
  retryAfterMs?: number | undefined;
  cause?: unknown;
};

export class KubeError extends Error {
  override name = 'KubeError';
  readonly status: number;
  readonly reason: string;
  readonly retryAfterMs: number | undefined;

  /** @param attempted what was tried, e.g. `list deployments.apps` */
  constructor(attempted: string, message: string, details: KubeErrorDetails) {
    super(`${attempted}: ${message}`, { cause: details.cause });
    this.status = details.status;
    this.reason = details.reason;
    this.retryAfterMs = details.retryAfterMs;
  }
}

const hasStatus =
  (...statuses: readonly number[]) =>
  (error: unknown): error is KubeError =>
    error instanceof KubeError && statuses.includes(error.status);

export const isNotFound = hasStatus(404);
/** The object changed, exists already, or is another one than the precondition names. */
export const isConflict = hasStatus(409);
/** What was looked at is gone, or another than it was. */
export const isOutdated = hasStatus(404, 409);
export const isForbidden = hasStatus(403);
export const isUnauthorized = hasStatus(401);
/** A resourceVersion or a list's continuation that the server no longer has. */
export const isGone = hasStatus(410);
export const isInvalid = hasStatus(400, 422);
/** No answer came, or the server gave up: what was asked for may have happened all the same. */
export const isUnanswered = (error: unknown): error is KubeError =>
  error instanceof KubeError && (error.status === 0 || error.status >= 500);
/** An answer came, and is not of the shape that is expected: what another client wrote is not. */
export const isMalformed = (error: unknown): error is KubeError =>
  error instanceof KubeError && error.reason === 'Malformed';
