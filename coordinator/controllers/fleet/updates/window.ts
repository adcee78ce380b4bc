/** When images of a CNFDeployment may be updated, as its `spec.updates` says. Pure. */
import { Cron } from 'croner';
import { messageOf } from '#shared/runtime/errors.ts';
import type { CnfUpdates } from '#shared/resources/other-kinds/cnf-deployment.ts';
import { durationMs } from '../duration.ts';

export type UpdateWindow = {
  isOpen: boolean;
  /** When that may change, wall-clock milliseconds. */
  until: number;
};

/** As short as a schedule can tell; and a longer one than a day is no window. */
const [LEAST_MS, MOST_MS] = [60_000, 86_400_000];

/**
 * With one minute and one hour, a time that summer time leaves out is the next one that there is,
 * and a time that comes twice is the first of the two. With several, croner leaves such times out,
 * and repeats them (findings/cron-schedules.sh).
 * @throws Error that says what is wrong with the schedule, or with the zone
 */
export const windowAt = (
  { schedule, duration, timeZone }: CnfUpdates,
  now: number,
): UpdateWindow => {
  const lengthMs = durationMs(duration);
  if (lengthMs < LEAST_MS || lengthMs > MOST_MS)
    throw new Error(`duration must be from 1m to 24h, and is ${duration}`);
  const cron = new Cron(schedule, { timezone: timeZone, mode: '5-part', paused: true });
  const begin = cron.nextRun(new Date(now - lengthMs))?.getTime();
  if (begin === undefined) throw new Error(`schedule ${schedule} never comes`);
  return begin > now ? { isOpen: false, until: begin } : { isOpen: true, until: begin + lengthMs };
};

/** What is wrong with it; undefined: nothing. */
export const windowProblem = (updates: CnfUpdates, now: number): string | undefined => {
  try {
    windowAt(updates, now);
    return undefined;
  } catch (error) {
    return `spec.updates: ${messageOf(error)}`;
  }
};
