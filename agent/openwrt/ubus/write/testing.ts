import { NOTHING_UNCONFIRMED, type Unconfirmed } from './unconfirmed.ts';

/** The record of an agent that is not started again. */
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
