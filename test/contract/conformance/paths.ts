/** The ways to write an OpenWRT, each of which has to keep every promise of the suite. */
import { realOpenwrt } from './real.ts';
import { simulated, ubusDriver } from './simulated.ts';
import type { WritePath } from './target.ts';

const EVERYTHING = { lists: true, hostileValues: true, bigDelta: 1_500 };

export const paths: readonly WritePath[] = [
  {
    name: 'ubus, with a login of its own, on the simulator',
    open: () => simulated(ubusDriver),
    holds: EVERYTHING,
  },
  {
    name: 'ubus, as root of a stock LuCI, on the simulator',
    open: () => simulated(ubusDriver, { login: 'stock' }),
    holds: { ...EVERYTHING, bigDelta: 200 },
  },
  ...realOpenwrt(),
];
