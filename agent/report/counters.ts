/**
 * Reads once in a while what the pod's network devices have carried and what policies have denied.
 * By the clock alone, since each look finds something else.
 */
import { readFile } from 'node:fs/promises';
import { isDeepStrictEqual } from 'node:util';
import {
  MAX_COUNTED_DEVICES,
  MAX_DENIED,
  OTHER_POLICIES,
  type Counters,
  type Denied,
  type DeviceCounters,
} from '#shared/protocol/counters.ts';
import type { Clock } from '#shared/runtime/clock.ts';
import { messageOf } from '#shared/runtime/errors.ts';
import type { Logger } from '#shared/runtime/log.ts';

export type CountersDeps = {
  /** Undefined: the agent does not share the devices of its OpenWRT. */
  devices: (() => Promise<readonly DeviceCounters[]>) | undefined;
  denied: () => readonly Denied[];
  clock: Clock;
  log: Logger;
};

export type CountersSource = {
  /** The same object until there are others. */
  current: () => Counters | undefined;
  run: (signal: AbortSignal) => Promise<void>;
};

/** A little more than the minute in which a CNF is written once: then none of them waits. */
const LOOK_MS = 63_000;

export const createCountersSource = (deps: CountersDeps): CountersSource => {
  const { devices = async () => [], denied, clock, log } = deps;
  let current: Counters | undefined;

  const look = async (): Promise<void> => {
    try {
      const interfaces = (await devices()).slice(0, MAX_COUNTED_DEVICES);
      const seen = { interfaces, denied: mostOf(denied()) };
      if (!isDeepStrictEqual(seen, current)) current = seen;
    } catch (error) {
      log.debug({ reason: messageOf(error) }, "failed to read counters of the pod's devices");
    }
  };

  return {
    current: () => current,
    run: async (signal) => {
      while (!signal.aborted) {
        await look();
        await clock.sleep(LOOK_MS, signal).catch(() => undefined);
      }
    },
  };
};

const DIRECTIONS = ['ingress', 'egress'] as const;

/** What is left out is in the sum of its direction. */
export const mostOf = (denied: readonly Denied[]): Denied[] => {
  if (denied.length <= MAX_DENIED) return denied.toSorted(byPackets);
  const named = denied.filter(({ policy }) => policy !== OTHER_POLICIES).toSorted(byPackets);
  const kept = named.slice(0, MAX_DENIED - DIRECTIONS.length);
  const rest = denied.filter((one) => !kept.includes(one));
  return [...kept, ...DIRECTIONS.flatMap((direction) => sumOf(rest, direction))];
};

const byPackets = (one: Denied, other: Denied): number => other.packets - one.packets;

const sumOf = (denied: readonly Denied[], direction: Denied['direction']): Denied[] => {
  const packets = denied
    .filter((one) => one.direction === direction)
    .reduce((sum, one) => Math.min(sum + one.packets, Number.MAX_SAFE_INTEGER), 0);
  return packets === 0 ? [] : [{ policy: OTHER_POLICIES, direction, packets }];
};

/** @throws where there is no /proc/net */
export const readDeviceCounters = async (): Promise<DeviceCounters[]> =>
  deviceCountersIn(await readFile('/proc/net/dev', 'utf8'));

/**
 * `name: bytes packets errs drop fifo frame compressed multicast`, all received, and then what was
 * sent: `bytes packets errs drop …`.
 */
const LINE = /^\s*([^\s:]+):(.*)$/;

export const deviceCountersIn = (text: string): DeviceCounters[] =>
  text.split('\n').flatMap((line) => {
    const [, name = '', rest = ''] = LINE.exec(line) ?? [];
    if (name === '' || name === 'lo') return [];
    const [rxBytes, rxPackets, , rxDropped, , , , , txBytes, txPackets, , txDropped] = rest
      .trim()
      .split(/\s+/)
      .map(countIn);
    return [
      {
        name,
        rxBytes: rxBytes ?? 0,
        rxPackets: rxPackets ?? 0,
        rxDropped: rxDropped ?? 0,
        txBytes: txBytes ?? 0,
        txPackets: txPackets ?? 0,
        txDropped: txDropped ?? 0,
      },
    ];
  });

/** The kernel's counters have 64 bits. */
const countIn = (text: string): number => Math.min(Number(text), Number.MAX_SAFE_INTEGER);
