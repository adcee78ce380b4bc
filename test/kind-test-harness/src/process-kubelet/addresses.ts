/**
 * Addresses of 127.0.0.0/8 for pods. Every process of this machine may listen on them; nothing has
 * to be set up.
 */
import { randomInt } from 'node:crypto';

/**
 * Hosts 2 to 254 of a /24 chosen at random: two clusters at once are very unlikely to meet (1 in
 * 60,000).
 */
const FIRST_HOST = 2;
const LAST_HOST = 254;

export type AddressPool = {
  /** An address that no live pod of this pool has; the one that was free for the longest. */
  take: () => string;
  give: (address: string) => void;
};

export const createAddressPool = (random: typeof randomInt = randomInt): AddressPool => {
  const free: string[] = [];
  const taken = new Set<string>();

  const addSubnet = () => {
    // 127.0.x.y and 127.1.x.y are left to people and to programs that like them, 127.240.0.0 and up
    // are Services.
    const subnet = `127.${random(2, 240)}.${random(0, 256)}`;
    for (let host = FIRST_HOST; host <= LAST_HOST; host += 1) {
      const address = `${subnet}.${host}`;
      if (!taken.has(address)) free.push(address);
    }
  };

  return {
    take: () => {
      if (free.length === 0) addSubnet();
      const address = free.shift() ?? '';
      taken.add(address);
      return address;
    },
    give: (address) => {
      if (taken.delete(address)) free.push(address);
    },
  };
};
