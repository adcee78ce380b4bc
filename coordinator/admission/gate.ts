/** Lets so much through at a time. What has to wait does so in the order in which it came, for a limited time. */
export type GateOptions = {
  /** In hand at a time. One that is larger passes alone. */
  bytes: number;
  waiting: number;
  timeoutMs: number;
};

export type Gate = {
  /** Resolves with a function that makes room again, or with undefined when there is no room in time. */
  enter: (bytes: number) => Promise<(() => void) | undefined>;
};

type Waiting = { bytes: number; admit: () => void };

export const createGate = ({ bytes: limit, waiting: maxWaiting, timeoutMs }: GateOptions): Gate => {
  const queue: Waiting[] = [];
  let inHand = 0;

  const fits = (bytes: number): boolean => inHand === 0 || inHand + bytes <= limit;
  const take = (bytes: number): (() => void) => {
    inHand += bytes;
    return () => {
      inHand -= bytes;
      for (let [next] = queue; next !== undefined && fits(next.bytes); [next] = queue) {
        queue.shift();
        next.admit();
      }
    };
  };

  return {
    enter: (bytes) => {
      if (queue.length === 0 && fits(bytes)) return Promise.resolve(take(bytes));
      if (queue.length >= maxWaiting) return Promise.resolve(undefined);
      return new Promise((resolve) => {
        const one: Waiting = {
          bytes,
          admit: () => {
            clearTimeout(timer);
            resolve(take(bytes));
          },
        };
        const timer = setTimeout(() => {
          queue.splice(queue.indexOf(one), 1);
          resolve(undefined);
        }, timeoutMs);
        queue.push(one);
      });
    },
  };
};
