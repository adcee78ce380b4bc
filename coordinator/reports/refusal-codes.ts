/** Why a report is not taken, once for the answer, the log and the metric. */

export const refusals = {
  'no-token': [401, 'the request has no bearer token'],
  'bad-token': [401, 'the token is not valid for this audience, or has expired'],
  'unbound-token': [403, 'the token is not bound to a pod'],
  'other-namespace': [403, 'the token belongs to a pod of another namespace'],
  'other-pod': [403, 'the token belongs to another pod'],
  'pod-gone': [403, 'the pod that the token is bound to does not exist any more'],
  'no-agent': [403, 'the pod has no agent container with a literal value of SDEWAN_PURPOSE'],
  'not-started': [503, 'no kubelet has started the agent of this pod'],
  'other-purpose': [403, 'the pod serves another purpose'],
  'not-found': [404, 'there is nothing at this path'],
  'old-boot': [409, 'a later start of this agent has reported since'],
  'too-large': [413, 'the body is larger than 1 MiB'],
  'too-much': [413, 'reports of this pod or its namespace are larger than the coordinator keeps'],
  'too-often': [429, 'this pod reports too often'],
  'too-slow': [408, 'the body did not come within three seconds'],
  'not-json': [400, 'the body is not JSON'],
  'other-version': [422, 'the agent speaks another version of the protocol than this coordinator'],
  'bad-report': [422, 'the report does not have the form that this coordinator understands'],
  'not-leading': [503, 'another coordinator leads, and this agent reports to one only'],
  unavailable: [503, 'the coordinator cannot check reports now'],
} as const satisfies Record<string, readonly [status: number, message: string]>;

export type RefusalCode = keyof typeof refusals;

export class Refusal extends Error {
  override name = 'Refusal';
  readonly code: RefusalCode;
  /** What exactly, where that helps: paths in the body, never values. */
  readonly details: readonly string[];

  constructor(code: RefusalCode, options: { details?: readonly string[]; cause?: unknown } = {}) {
    super(refusals[code][1], { cause: options.cause });
    this.code = code;
    this.details = options.details ?? [];
  }

  get status() {
    return refusals[this.code][0];
  }
}
