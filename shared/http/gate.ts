/**
 * Admits a limited amount at a time. What has to wait does so for a limited time, in the order in
 * which it came within its group, and groups take turns: one that sends much delays only itself.
 */
import { Turns } from '../util/turns.ts';

export type GateOptions = {
  /** In hand at a time, in whatever unit. One that is larger passes alone. */
  most: number;
  /** Requests of one group that wait. */
  waiting: number;
  timeoutMs: number;
};

export type Gate = {
  /** Resolves with a function that makes room again, or with undefined: there is none in time. */
  enter: (size: number, group?: string) => Promise<(() => void) | undefined>;
};

type Waiting = { size: number; hasLeft: boolean; admit: () => void };

export const createGate = ({ most, waiting: maxWaiting, timeoutMs }: GateOptions): Gate => {
  const queue = new Turns<Waiting>();
  /** How many wait, by group. */
  const waiting = new Map<string, number>();
  /** Taken from the queue, and too large for the room that there is. */
  let next: Waiting | undefined;
  let inHand = 0;

  const fits = (size: number): boolean => inHand === 0 || inHand + size <= most;
  const admitNext = (): void => {
    for (;;) {
      next ??= queue.take();
      if (next === undefined) return;
      if (!next.hasLeft && !fits(next.size)) return;
      if (!next.hasLeft) next.admit();
      next = undefined;
    }
  };
  const take = (size: number): (() => void) => {
    inHand += size;
    return () => {
      inHand -= size;
      admitNext();
    };
  };
  const count = (group: string, by: number): void => {
    const left = (waiting.get(group) ?? 0) + by;
    if (left === 0) waiting.delete(group);
    else waiting.set(group, left);
  };

  return {
    enter: (size, group = '') => {
      if (waiting.size === 0 && fits(size)) return Promise.resolve(take(size));
      if ((waiting.get(group) ?? 0) >= maxWaiting) return Promise.resolve(undefined);
      return new Promise((resolve) => {
        const leave = (result: (() => void) | undefined): void => {
          clearTimeout(timer);
          one.hasLeft = true;
          count(group, -1);
          resolve(result);
        };
        const one: Waiting = { size, hasLeft: false, admit: () => leave(take(size)) };
        const timer = setTimeout(() => leave(undefined), timeoutMs);
        count(group, 1);
        queue.add(group, one);
      });
    },
  };
};
