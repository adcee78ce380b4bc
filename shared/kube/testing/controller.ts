/** What all controllers in unit tests need. */
import type { ControllerMetrics } from '../controller.ts';
import type { Leadership } from '../leadership.ts';

export const NO_METRICS: ControllerMetrics = {
  reconciled: () => undefined,
  exposeQueue: () => undefined,
};

/** The only replica. */
export const ALWAYS_LEADING: Leadership = {
  term: () => 0,
  lead: (work, signal) => work(signal),
  renew: () => undefined,
  beforeRelease: () => undefined,
};
