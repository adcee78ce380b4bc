/**
 * The name under which reports stand: a coordinator takes those of the newest boot that it knows,
 * and refuses those of earlier ones. All streams of an agent have one, since two of them may end at
 * the same coordinator.
 */
import { randomUUID } from 'node:crypto';

export type Boot = {
  id: () => string;
  /** That boot is over for a coordinator: begins another, unless that has been done. */
  supersede: (id: string) => void;
};

export const createBoot = (): Boot => {
  let current: string = randomUUID();
  return {
    id: () => current,
    supersede: (id) => {
      if (id === current) current = randomUUID();
    },
  };
};
