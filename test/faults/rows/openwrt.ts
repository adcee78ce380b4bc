/**
 * An OpenWRT that is slow, silent, wrong or gone: the simulator's faults, on each device at once.
 */
import { setTimeout as sleep } from 'node:timers/promises';
import type { Fault } from '../../openwrt/simulator/faults.ts';
import type { Status } from '../../openwrt/simulator/rpcd/bus.ts';
import { control } from '../../stack/simulator.ts';
import type { Row } from '../row.ts';

/** Where it takes a time, the fault is over when the device does as ever. */
const misbehaves =
  (ms: number, ...faults: readonly Fault[]): Row['run'] =>
  async (fixture) => {
    const devices = await fixture.targets('openwrt');
    const all = (method: 'POST' | 'DELETE', route: string, body?: object) =>
      Promise.all(devices.map((device) => control(fixture, device, { method, route, body })));
    for (const fault of faults) await all('POST', 'faults', fault);
    await sleep(ms);
    await all('DELETE', 'faults');
  };

/** Each call of these methods is answered with this status of ubus, and not done. */
const answered = (status: Status, object: string, ...methods: readonly string[]): Fault[] =>
  methods.map((method) => ({ object, method, action: { kind: 'status', status } }));

const repeated =
  (route: string, times: number): Row['run'] =>
  async (fixture, random) => {
    for (let done = 0; done < times; done += 1) {
      const device = random.pick(await fixture.targets('openwrt'));
      await control(fixture, device, { method: 'POST', route });
      await sleep(random.int(1_500));
    }
  };

export const openwrt: readonly Row[] = [
  {
    id: 'openwrt-slow',
    fault: 'OpenWRT takes 2 s for each call, for 15 s',
    holds: '',
    boundMs: 30_000,
    takesSeconds: 35,
    run: misbehaves(15_000, { action: { kind: 'delay', ms: 2_000 } }),
  },
  {
    id: 'openwrt-hangs',
    fault: 'OpenWRT answers no call for 12 s, connections stay open',
    holds: '',
    // A reload that the agent asks for meanwhile has 120 s, and is never answered.
    boundMs: 150_000,
    takesSeconds: 40,
    run: misbehaves(12_000, { action: { kind: 'hang' } }),
  },
  {
    id: 'openwrt-lies',
    fault: 'OpenWRT says that it has applied, committed and run programs, and does not, for 8 s',
    holds: '',
    boundMs: 30_000,
    takesSeconds: 30,
    run: misbehaves(
      8_000,
      ...answered(0, 'uci', 'apply', 'commit', 'confirm'),
      ...answered(0, 'file', 'exec'),
    ),
  },
  {
    id: 'openwrt-half-replies',
    fault: 'OpenWRT does each second call and cuts the connection instead of answering, for 8 s',
    holds: '',
    boundMs: 45_000,
    takesSeconds: 40,
    run: misbehaves(
      8_000,
      ...Array.from({ length: 100 }, (_, index): Fault => ({
        when: 'after',
        skip: index * 2,
        times: 1,
        action: { kind: 'reset' },
      })),
    ),
  },
  {
    id: 'openwrt-refuses',
    fault: 'sessions end at once and logins are refused, as with a changed password, for 8 s',
    holds: '',
    boundMs: 60_000,
    takesSeconds: 45,
    run: misbehaves(8_000, ...answered(6, 'session', 'login'), {
      action: { kind: 'error', error: 'access' },
    }),
  },
  {
    id: 'openwrt-full',
    fault: 'each write to OpenWRT fails, as with a full disk, for 8 s',
    holds: '',
    boundMs: 30_000,
    takesSeconds: 30,
    run: misbehaves(
      8_000,
      ...answered(9, 'uci', 'add', 'set', 'delete', 'apply', 'commit'),
      ...answered(9, 'file', 'write'),
    ),
  },
  {
    id: 'rpcd-dies',
    fault: 'rpcd dies 8 times at random',
    holds: '',
    boundMs: 45_000,
    takesSeconds: 40,
    run: repeated('kill-rpcd', 8),
  },
  {
    id: 'openwrt-reset',
    fault:
      'OpenWRT goes back to its factory configuration 8 times at random, without a restart of its container',
    holds: '',
    boundMs: 30_000,
    takesSeconds: 30,
    run: repeated('restart', 8),
  },
];
