/** The reasons for which admission refuses, in one place for answers, logs and metrics. */

/** `code` and `status` are what kubectl gets: an HTTP code and Kubernetes' own word for it. */
export const admissionRefusals = {
  InvalidSpec: { code: 422, status: 'Invalid' },
  NameTooLong: { code: 422, status: 'Invalid' },
  NameConflict: { code: 409, status: 'Conflict' },
  UnknownReference: { code: 422, status: 'Invalid' },
  UnknownNetwork: { code: 422, status: 'Invalid' },
  InUse: { code: 409, status: 'Conflict' },
  UnknownBucketType: { code: 422, status: 'Invalid' },
  BucketForbidden: { code: 403, status: 'Forbidden' },
  /** Never refused: only warned of. */
  Caution: { code: 422, status: 'Invalid' },
  SecondCnf: { code: 409, status: 'Conflict' },
  NotInjectable: { code: 422, status: 'Invalid' },
} as const satisfies Record<string, { code: number; status: string }>;

export type RefusalReason = keyof typeof admissionRefusals;

/** `message` says what is wrong and what would be right, to the person at kubectl. */
export type AdmissionRefusal = { reason: RefusalReason; message: string };
