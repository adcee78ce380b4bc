/** Services of the device and how often each was reloaded. */
import type { Cause, Journal } from './journal.ts';

export type Services = {
  /** Records one action (`reload`, `restart`, …) of a service. */
  acted: (action: {
    service: string;
    action: string;
    by: Cause;
    ok: boolean;
    stderr: string;
  }) => void;
  /** Actions per service since the start of the process. */
  counts: () => Record<string, number>;
};

export const createServices = (journal: Journal): Services => {
  const counts = new Map<string, number>();
  return {
    acted: (action) => {
      counts.set(action.service, (counts.get(action.service) ?? 0) + 1);
      journal.add({ event: 'reload', ...action });
    },
    counts: () => Object.fromEntries(counts),
  };
};
