import * as fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import {
  countersSchema,
  MAX_COUNTED_DEVICES,
  MAX_DENIED,
  type Denied,
} from '#shared/protocol/counters.ts';
import { createManualClock } from '#shared/runtime/testing/manual-clock.ts';
import { silentLogger } from '#shared/runtime/log.ts';
import { createCountersSource, deviceCountersIn, mostOf } from './counters.ts';

const HEAD = `Inter-|   Receive                                                |  Transmit
 face |bytes    packets errs drop fifo frame compressed multicast|bytes    packets errs drop fifo colls carrier compressed
    lo: 4146     38    0    0    0     0          0         0     4146      38    0    0    0     0       0          0
`;

const directionsOf = (denied: readonly Denied[], direction: string): number =>
  denied
    .filter((one) => one.direction === direction)
    .reduce((sum, { packets }) => sum + packets, 0);

describe('counters of devices', () => {
  it('are those of the kernel, without loopback', () => {
    const text = `${HEAD}  eth0: 1001 11 1 2 3 4 5 6 2002 22 7 8 9 10 11 12\nnet1:5 1    0 0    0 0 0 0 7 1 0 0 0 0 0 0\n`;
    expect(deviceCountersIn(text)).toEqual([
      {
        name: 'eth0',
        rxBytes: 1001,
        rxPackets: 11,
        rxDropped: 2,
        txBytes: 2002,
        txPackets: 22,
        txDropped: 8,
      },
      {
        name: 'net1',
        rxBytes: 5,
        rxPackets: 1,
        rxDropped: 0,
        txBytes: 7,
        txPackets: 1,
        txDropped: 0,
      },
    ]);
  });

  it('fit into a report, however many devices there are and whatever they have carried', async () => {
    const largest = String(2n ** 64n - 1n);
    const line = (at: number) => `${`d${at}`.padEnd(15, 'x')}: ${`${largest} `.repeat(16)}`;
    const text = `${HEAD}${Array.from({ length: 200 }, (_, at) => line(at)).join('\n')}`;
    const source = createCountersSource({
      devices: async () => deviceCountersIn(text),
      denied: () => [],
      clock: createManualClock(),
      log: silentLogger,
    });
    const stop = new AbortController();
    const running = source.run(stop.signal);
    await expect.poll(() => source.current()?.interfaces.length).toBe(MAX_COUNTED_DEVICES);
    expect(countersSchema.safeParse(source.current()).error).toBeUndefined();
    stop.abort();
    await running;
  });
});

it('reads counters once in a little more than a minute, and has the same object while they are the same', async () => {
  const clock = createManualClock();
  let looks = 0;
  let packets = 1;
  const source = createCountersSource({
    devices: undefined,
    denied: () => {
      looks += 1;
      return [{ policy: 'edge/web', direction: 'ingress', packets }];
    },
    clock,
    log: silentLogger,
  });
  const stop = new AbortController();
  const running = source.run(stop.signal);
  const minute = async (): Promise<void> => {
    const before = looks;
    clock.advance(60_000);
    expect(looks).toBe(before);
    clock.advance(3_000);
    await expect.poll(() => looks).toBe(before + 1);
  };
  await expect.poll(source.current).toBeDefined();
  const first = source.current();
  await minute();
  expect(source.current()).toBe(first);
  packets = 2;
  await minute();
  await expect.poll(() => source.current()?.denied[0]?.packets).toBe(2);
  stop.abort();
  await running;
});

const anyDenied: fc.Arbitrary<Denied[]> = fc.uniqueArray(
  fc.record({
    policy: fc.oneof(
      fc.constant('other'),
      fc.integer({ min: 0, max: 120 }).map((at) => `edge/p${at}`),
    ),
    direction: fc.constantFrom('ingress', 'egress'),
    packets: fc.integer({ min: 1, max: 1_000_000 }),
  }),
  { maxLength: 200, selector: ({ policy, direction }) => `${policy} ${direction}` },
);

it('names the policies that have denied most, and loses no packet of the others', () => {
  const property = fc.property(anyDenied, (denied) => {
    const most = mostOf(denied);
    expect(countersSchema.safeParse({ interfaces: [], denied: most }).error).toBeUndefined();
    for (const direction of ['ingress', 'egress'])
      expect(directionsOf(most, direction)).toBe(directionsOf(denied, direction));
    expect(most.length).toBeGreaterThanOrEqual(Math.min(denied.length, MAX_DENIED - 2));
    const named = most.filter(({ policy }) => policy !== 'other');
    const least = Math.min(...named.map(({ packets }) => packets));
    const leftOut = denied.filter((one) => one.policy !== 'other' && !named.includes(one));
    expect(leftOut.every(({ packets }) => packets <= least)).toBe(true);
  });
  fc.assert(property, { numRuns: 300 });
});
