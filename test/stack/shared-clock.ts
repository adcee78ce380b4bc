/**
 * One time for the agent and the simulator, so that a test with a device's real times (a reload of
 * 2 s, a rollback timer of 30 s, a session of 300 s) runs in milliseconds:
 *
 *     const clock = createSharedClock();
 *     const simulator = await startSimulator({ clock: clock.device, reloadMs: 2_000 });
 *     const driver = createUbusDriver({ clock: clock.agent, … });
 *     await clock.until(driver.apply(…));
 *
 * The invariant: **time stands still while either side has something to do.** It moves only from
 * one due timer to the next, and only after `settled()`: no HTTP exchange is under way but those
 * that a server of this process holds (the simulator holds them for nothing but this clock), no
 * file operation is, and in QUIET_TURNS turns of the event loop in a row none began or ended, nor
 * was a timer asked for. So the order of what happens hangs on the times that both sides asked for,
 * not on the machine. HTTP over loopback stays real, and so does what it costs.
 *
 * What it cannot see: timers that are not on this clock, and what another process does. With a real
 * API server, wait for a state of the test's own before time is let pass.
 */
import { setImmediate as turn } from 'node:timers/promises';
import type { Clock } from '#shared/runtime/clock.ts';
import { sleepOn } from '#shared/runtime/testing/manual-clock.ts';
import { createManualClock, type Clock as DeviceClock } from '../openwrt/simulator/clock.ts';
import { followWhatIsUnderWay } from './under-way.ts';

export type SharedClock = {
  /** For the simulator. */
  device: DeviceClock;
  /** For the agent, its drivers and whatever else takes the product's clock. */
  agent: Clock;
  /** Milliseconds since the clock was made. */
  nowMs: () => number;
  /**
   * Resolves when nothing is to be done before time passes. @throws Error that names what stays
   * open
   */
  settled: () => Promise<void>;
  /** Lets that much time pass, timer by timer. */
  advance: (ms: number) => Promise<void>;
  /**
   * Lets time pass until the work is done, and gives its outcome. @throws Error when `withinMs` (10
   * minutes) are not enough
   */
  until: <T>(work: Promise<T>, withinMs?: number) => Promise<T>;
  /** Lets time pass until it is so; looks after each timer. @throws Error that names it */
  reach: (what: string, isSo: () => boolean, withinMs?: number) => Promise<void>;
  /** Stops following what this process does. */
  close: () => void;
};

const QUIET_TURNS = 10;
const TEN_MINUTES_MS = 600_000;

/** `stuckAfterRealMs`: how long `settled` waits for what does not come to its end. */
export const createSharedClock = ({ stuckAfterRealMs = 10_000 } = {}): SharedClock => {
  const manual = createManualClock();
  const underWay = followWhatIsUnderWay();
  let timers = 0;
  const device: DeviceClock = {
    ...manual,
    after: (ms, callback) => {
      timers += 1;
      return manual.after(ms, callback);
    },
    wait: (ms, signal) => {
      timers += 1;
      return manual.wait(ms, signal);
    },
  };

  const settled = async (): Promise<void> => {
    const begin = performance.now();
    for (let quiet = 0, seen = -1; quiet < QUIET_TURNS;) {
      await turn();
      const now = timers + underWay.count();
      quiet = underWay.list().length === 0 && now === seen ? quiet + 1 : 0;
      seen = now;
      if (performance.now() - begin > stuckAfterRealMs)
        throw new Error(`time cannot pass, this stays open: ${underWay.list().join(', ')}`);
    }
  };

  let last: Promise<unknown> = Promise.resolve();
  /** What is waited for. Its holder goes on before time does. */
  const wanted = new Set<() => boolean>();
  const isSomethingThere = (): boolean => [...wanted].some((isSo) => isSo());
  /**
   * Several may wait at once: one step at a time, each after everybody has done what the one before
   * set off.
   */
  const inTurn = <T>(work: () => Promise<T>): Promise<T> => {
    const turns = last.then(work);
    last = turns.catch(() => undefined);
    return turns;
  };

  const reach = async (
    what: string,
    isSo: () => boolean,
    withinMs = TEN_MINUTES_MS,
  ): Promise<void> => {
    const end = manual.nowMs() + withinMs;
    const look = async (): Promise<boolean> => {
      await settled();
      if (isSo()) return true;
      if (!isSomethingThere() && !manual.step(end))
        throw new Error(`not in ${withinMs} ms: ${what}`);
      return false;
    };
    wanted.add(isSo);
    try {
      while (!(await inTurn(look)));
    } finally {
      wanted.delete(isSo);
    }
  };

  return {
    device,
    agent: agentClock(device),
    nowMs: manual.nowMs,
    settled,
    reach,
    advance: async (ms) => {
      const end = manual.nowMs() + ms;
      const move = async (): Promise<boolean> => {
        await settled();
        return isSomethingThere() || manual.step(end);
      };
      while (await inTurn(move));
      manual.advance(end - manual.nowMs());
    },
    until: async (work, withinMs) => {
      let done = false;
      const end = (): void => {
        done = true;
      };
      work.then(end, end);
      await reach('the work is done', () => done, withinMs);
      return work;
    },
    close: underWay.close,
  };
};

/** Its wall clock starts at the real time, since the times of the device's files are real. */
const agentClock = ({ nowMs, after }: DeviceClock, startMs: number = Date.now()): Clock => ({
  now: () => startMs + nowMs(),
  monotonic: nowMs,
  after,
  sleep: sleepOn(after),
});
