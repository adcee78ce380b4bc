import { systemClock } from '#shared/runtime/clock.ts';
import { silentLogger } from '#shared/runtime/log.ts';
import { describe, expect, it } from 'vitest';
import { defaultRouteOf, followDevices } from './devices.ts';

const HEAD =
  'Iface\tDestination\tGateway \tFlags\tRefCnt\tUse\tMetric\tMask\t\tMTU\tWindow\tIRTT\n';
const v4 = (device: string, destination: string, metric: number, flags = '0003') =>
  `${device}\t${destination}\t010200C0\t${flags}\t0\t0\t${metric}\t${destination}\t0\t0\t0   \n`;
const ZERO = '0'.repeat(32);
const v6 = (device: string, metric: string, flags = '00000003') =>
  `${ZERO} 00 ${ZERO} 00 fd000000000000000000000000000001 ${metric} 00000001 00000000 ${flags}     ${device}\n`;

describe('defaultRouteOf', () => {
  it.each<[string, string, string, string | undefined]>([
    ['the only one', HEAD + v4('eth0', '00000000', 0) + v4('net1', '000200C0', 0), '', 'eth0'],
    [
      'the lowest metric',
      HEAD + v4('net1', '00000000', 100) + v4('net2', '00000000', 20),
      '',
      'net2',
    ],
    ['IPv4 before IPv6', HEAD + v4('eth0', '00000000', 900), v6('net1', '00000001'), 'eth0'],
    ['IPv6 where there is no other', HEAD, v6('net1', '00000400') + v6('net2', '00000064'), 'net2'],
    ['none', HEAD + v4('net1', '000200C0', 0), '', undefined],
    [
      'not one that only rejects packets',
      HEAD + v4('eth0', '00000000', 0, '0203'),
      v6('lo', 'ffffffff', '00200200'),
      undefined,
    ],
  ])('is %s', (_which, ipv4, ipv6, device) => {
    expect(defaultRouteOf(ipv4, ipv6)).toBe(device);
  });
});

describe('followDevices', () => {
  it('calls back for changes after the first look, and keeps what it knows while nothing can be read', async () => {
    const due: (() => void)[] = [];
    const clock = {
      ...systemClock,
      after: (_ms: number, run: () => void) => (due.push(run), () => {}),
    };
    const table = (device: string) => ({
      defaultRoute: device,
      byAddress: new Map([['10.0.0.1', device]]),
    });
    const tables = [table('eth0'), table('eth0'), new Error('no /proc'), table('eth1')];
    let changes = 0;
    const devices = await followDevices({
      read: async () => {
        const next = tables.shift();
        if (next === undefined || next instanceof Error) throw next ?? new Error('none left');
        return next;
      },
      onChange: () => {
        changes += 1;
      },
      signal: new AbortController().signal,
      clock,
      log: silentLogger,
    });
    const seen: unknown[] = [];
    for (let looks = 0; looks < 4; looks += 1) {
      seen.push([devices().defaultRoute, changes]);
      due.shift()?.();
      await new Promise(setImmediate);
    }
    expect(seen).toEqual([
      ['eth0', 0],
      ['eth0', 0],
      ['eth0', 0],
      ['eth1', 1],
    ]);
  });
});
