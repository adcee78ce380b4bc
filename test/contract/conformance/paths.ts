/**
 * The ways to write an OpenWRT, each of which has to keep every promise of the suite that its API
 * lets it keep.
 */
import { icnFixture, uciFixture } from './fixtures.ts';
import { realOpenwrt } from './real.ts';
import { icn, simulated, ubus } from './simulated.ts';
import type { WritePath } from './target.ts';

const ALL_OF_UCI = { fixture: uciFixture, looks: 1, cannot: {} };

/** Where an administrator, a crash or a clock can be played, too. */
export const simulatedPaths: readonly WritePath[] = [
  {
    name: 'ubus, with a login of its own, on the simulator',
    open: () => simulated(ubus),
    ...ALL_OF_UCI,
    bigDelta: 1_500,
  },
  {
    name: 'ubus, as root of a stock LuCI, on the simulator',
    open: () => simulated(ubus, { login: 'stock' }),
    ...ALL_OF_UCI,
    bigDelta: 200,
  },
  {
    name: "icn, on the simulator of ICN's REST",
    open: () => simulated(icn, { login: 'stock', apis: ['icn'] }),
    fixture: icnFixture,
    bigDelta: 40,
    looks: 13,
    cannot: {
      'any text': 'REST trims what it gets',
      'other names': 'REST renames nothing',
      'all or nothing': 'REST has no transactions',
      'a change since it was read': 'REST has no versions',
      'an unusable package': 'REST lists nothing then',
      'a firewall without defaults': 'REST does not show them',
    },
  },
];

export const paths: readonly WritePath[] = [...simulatedPaths, ...realOpenwrt()];
