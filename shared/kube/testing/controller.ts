/** What controllers of unit tests have beside what they are about. */
import type { ControllerMetrics } from '../controller.ts';

export const NO_METRICS: ControllerMetrics = {
  reconciled: () => undefined,
  exposeQueue: () => undefined,
};
