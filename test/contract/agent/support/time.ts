/**
 * The time that a test's agent and OpenWRT live in: one for both, which passes without waiting, or
 * this machine's.
 */
import { systemClock } from '#shared/runtime/clock.ts';
import type { Driver } from '../../../../agent/openwrt/driver.ts';
import type { SharedClock } from '../../../stack/shared-clock.ts';

export type TestClock = Pick<SharedClock, 'agent' | 'until' | 'reach' | 'advance'>;

const LOOK_INTERVAL_MS = 10;

export const realTime: TestClock = {
  agent: systemClock,
  until: (work) => work,
  reach: async (what, isSo, withinMs = 60_000) => {
    const end = systemClock.monotonic() + withinMs;
    for (; !isSo(); await systemClock.sleep(LOOK_INTERVAL_MS))
      if (systemClock.monotonic() > end) throw new Error(`not in ${withinMs} ms: ${what}`);
  },
  advance: (ms) => systemClock.sleep(ms),
};

/** The driver, with time let pass until each call is done. */
export const timed = (driver: Driver, { until }: TestClock): Driver => ({
  get name() {
    return driver.name;
  },
  fingerprint: (signal) => until(driver.fingerprint(signal)),
  read: (signal) => until(driver.read(signal)),
  rename: (renames, signal) => until(driver.rename(renames, signal)),
  apply: (deltas, signal, ending) => until(driver.apply(deltas, signal, ending)),
  information: (signal) => until(driver.information(signal)),
  firewallWays: () => driver.firewallWays?.(),
  policies: () => {
    const policies = driver.policies?.();
    return (
      policies && {
        marker: (signal) => until(policies.marker(signal)),
        load: (after, before, signal) => until(policies.load(after, before, signal)),
        tryOut: (table, signal) => until(policies.tryOut(table, signal)),
        denied: (signal) => until(policies.denied(signal)),
      }
    );
  },
  unansweredSince: driver.unansweredSince,
  close: () => until(driver.close()),
});
