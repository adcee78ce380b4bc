import { NOTHING_UNCONFIRMED, type Unconfirmed } from './unconfirmed.ts';

/** Of an agent that nobody starts again. */
export const unconfirmedInMemory = (): Unconfirmed => {
  let value = NOTHING_UNCONFIRMED;
  return {
    isLost: false,
    value: () => value,
    write: (next) => {
      value = next;
      return Promise.resolve();
    },
  };
};
